"""Stage `bundle`: put everything that speaks into one folder, with manifest and provenance."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from kokoro_tvm import __version__
from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.versions import TORCH, TVM, llvm_version, versions
from kokoro_tvm.builder.stages.base import Files, Place, output_group, read_json
from kokoro_tvm.builder.stages.libkokoro import compiler_of
from kokoro_tvm.builder.stages.provenance import parameters
from kokoro_tvm.recipe import Recipe
from kokoro_tvm.targets import find_runner, tools_for

_NOT_COPIED = ("config", "machine", "parameters")  # parts that are only read


def declare(
    place: Place, recipe: Recipe, parts: Files, validations: Files, checkpoint: Stage, front_end: Stage | None
) -> Stage:
    """Declare the stage.

    Args:
        place: Folders.
        recipe: The recipe.
        parts: Parts of a bundle (`kokoro_tvm.builder.stages.manifest`).
        validations: Artifact -> its report. The bundle waits for all of them.
        checkpoint: Stage of the checkpoint.
        front_end: Stage of the front end; None: the bundle has none.
    """
    texts = output_group("front_end", front_end, without="tagger.zip") if front_end else {}
    copied = [file for name, (_, file) in parts.items() if name.partition("/")[0] not in _NOT_COPIED]
    _, not_run = find_runner(recipe.target.model_dump(mode="json"))
    toolchain = tools_for(recipe.target).toolchain()

    def compiler() -> dict[str, str]:
        """Return the versions of linker, LLVM and C compiler. Raises BuildError if one is missing."""
        c = {"c": compiler_of(recipe).version()} if recipe.runtime.c else {}
        return {"linker": toolchain.version(), "llvm": llvm_version(), **c}

    return place.stage(
        "bundle",
        folder=place.bundle,
        work=place.work,
        doc=f"put the bundle artifacts/{recipe.name} together",
        outputs=(
            *copied,
            *(["front_end.safetensors"] if front_end else []),
            "provenance.json",
            "bundle.json",
        ),
        inputs={
            **parts,
            **output_group("checkpoint", checkpoint),
            **texts,
            **{f"validations/{artifact}": file for artifact, file in validations.items()},
        },
        parameters={"recipe": parameters(recipe), "not_run": not_run},
        settings=lambda: {"toolchain": versions(*TVM, *TORCH), "compiler": compiler()},
        facts=lambda: {**compiler(), "versions": versions(*TVM, *TORCH), "project": __version__},
    )


def run(
    out: Path,
    inputs: Inputs,
    *,
    recipe: dict[str, Any],
    not_run: str,
    toolchain: dict[str, str],
    compiler: dict[str, str],
) -> None:
    """Link the parts into the folder, and write provenance.json, then bundle.json."""
    # Hard links are safe: objects of the store are replaced, never written to.
    from safetensors import safe_open

    from kokoro_tvm.builder.engine.durable import link
    from kokoro_tvm.builder.stages.manifest import describe
    from kokoro_tvm.builder.stages.provenance import gate_values, statement
    from kokoro_tvm.runtime.bundle.provenance import FILE

    with safe_open(str(inputs["checkpoint/weights.safetensors"]), framework="numpy") as weights:
        metadata = weights.metadata()
    manifest, files = describe(inputs, recipe, metadata["synthetic"] == "true", toolchain, not_run)
    for name, file in files.items():
        link(file.path, out / name)
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    origin = statement(
        files={name: file.sha256 for name, file in files.items()}
        | {"bundle.json": hashlib.sha256(text.encode()).hexdigest()},
        recipe=recipe,
        checkpoint={name: inputs.sha256(f"checkpoint/{name}") for name in inputs.group("checkpoint")},
        weights=metadata["sha256"],
        front_end=read_json(inputs["front_end/front_end.json"]) if manifest["front_end"] else {},
        reports={
            f"{name}/validation.json": (inputs.sha256(f"validations/{name}"), gate_values(read_json(path)))
            for name, path in inputs.group("validations").items()
        },
        toolchain=toolchain,
        compiler=compiler,
    )
    (out / FILE).write_text(json.dumps(origin, indent=1, ensure_ascii=False), encoding="utf-8")
    (out / "bundle.json").write_text(text, encoding="utf-8")
