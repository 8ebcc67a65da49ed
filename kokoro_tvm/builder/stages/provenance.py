"""Provenance of a bundle: an in-toto statement with SLSA provenance, for the bundle's provenance.json.

Statement: https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md; predicate:
https://slsa.dev/spec/v1.0/provenance. It has no time, path or name of a machine, so that the same inputs give
the same bytes. It is not signed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from kokoro_tvm import __version__
from kokoro_tvm.recipe import Recipe

# The fields of a recipe that decide about a bundle's files. Gates and time limits do not.
_PARAMETERS = (
    "name", "model", "target", "precision", "length", "buckets", "components", "passes", "pass_context",
    "runtime", "weight_bits", "languages",
)  # fmt: skip


_NOT_RUN = "not run: "


def parameters(recipe: Recipe) -> dict[str, Any]:
    """Return the fields of a resolved recipe that decide about the bundle, as JSON."""
    data = recipe.model_dump(mode="json")
    return {name: data[name] for name in _PARAMETERS}


def gate_values(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a report of gates.

    Returns:
        `passed`; `gates`, by "OUTPUT.GATE" the limit and the value nearest to it or furthest beyond it; and
        `not_run`, the reason if no utterance was judged.
    """
    verdicts = [v for u in report["utterances"] for v in u["verdicts"]] + report["overall"]
    nearest: dict[str, Any] = {}
    for verdict in verdicts:
        if verdict["limit"] is None:
            continue
        name = ".".join(filter(None, [verdict["output"], verdict["gate"]]))
        worst = min if verdict["gate"].startswith("min_") else max
        values = [verdict["value"]] + ([nearest[name]["value"]] if name in nearest else [])
        nearest[name] = {"limit": verdict["limit"], "value": worst(values, key=float)}
    statuses = [str(utterance["status"]) for utterance in report["utterances"]]
    reasons = [status.removeprefix(_NOT_RUN) for status in statuses if status.startswith(_NOT_RUN)]
    not_run = {"not_run": reasons[0]} if reasons and len(reasons) == len(statuses) else {}
    return {"passed": report["passed"], "gates": dict(sorted(nearest.items())), **not_run}


def statement(
    *,
    files: Mapping[str, str],
    recipe: Mapping[str, Any],
    checkpoint: Mapping[str, str],
    weights: str,
    front_end: Mapping[str, Mapping[str, str]],
    reports: Mapping[str, tuple[str, Mapping[str, Any]]],
    toolchain: Mapping[str, str],
    compiler: Mapping[str, str],
) -> dict[str, Any]:
    """Return the statement about a bundle.

    Args:
        files: Name in the bundle -> SHA-256, including bundle.json.
        recipe: The recipe's `parameters`.
        checkpoint: File -> SHA-256.
        weights: SHA-256 of the file that the weights came from, as the recipe pins it.
        front_end: "tagger" and "lexicon" -> file -> SHA-256; empty without a front end.
        reports: Report -> SHA-256, and its `gate_values`.
        toolchain: Package -> version, and Python's version.
        compiler: Other tools, such as LLVM and the linker -> version.
    """
    # Import here: the runtime imports numpy, which a build that has nothing to do does not need.
    from kokoro_tvm.runtime.bundle.provenance import BUILD_TYPE, BUILDER, PREDICATE_TYPE, STATEMENT_TYPE

    packages = {name: version for name, version in sorted(toolchain.items()) if name != "python"}
    return {
        "_type": STATEMENT_TYPE,
        "subject": [resource(name, sha256) for name, sha256 in sorted(files.items())],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"recipe": dict(recipe)},
                "internalParameters": {"python": toolchain["python"], **compiler},
                "resolvedDependencies": [
                    resource("checkpoint", weights),
                    *(resource(name, sha256) for name, sha256 in sorted(checkpoint.items())),
                    *(
                        resource(f"{part}/{name}", sha256)
                        for part, files in sorted(front_end.items())
                        for name, sha256 in sorted(files.items())
                    ),
                    *({"name": n, "uri": f"pkg:pypi/{n}@{quote(v, safe='')}"} for n, v in packages.items()),
                ],
            },
            "runDetails": {
                "builder": {"id": BUILDER, "version": {"kokoro-tvm": __version__}},
                "byproducts": [
                    resource(name, sha256, values) for name, (sha256, values) in sorted(reports.items())
                ],
            },
        },
    }


def resource(name: str, sha256: str, annotations: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return an in-toto resource descriptor of a file. Without `annotations`, it has none."""
    extra = {} if annotations is None else {"annotations": dict(annotations)}
    return {"name": name, "digest": {"sha256": sha256}, **extra}
