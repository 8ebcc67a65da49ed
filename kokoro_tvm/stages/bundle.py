"""The bundle: everything that speaks, in one folder, with its manifest and where it comes from."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from kokoro_tvm import __version__
from kokoro_tvm.engine.inputs import Inputs
from kokoro_tvm.engine.stage import Stage
from kokoro_tvm.engine.versions import TORCH, TVM, llvm_version, versions
from kokoro_tvm.recipe import Recipe
from kokoro_tvm.stages.base import Place, files_of
from kokoro_tvm.stages.libkokoro import compiler_of
from kokoro_tvm.stages.provenance import parameters
from kokoro_tvm.targets import find_runner, tools_for

__all__ = ["declare", "run"]


def declare(
    place: Place,
    recipe: Recipe,
    parts: dict[str, tuple[Stage, str]],
    validations: dict[str, tuple[Stage, str]],
    checkpoint: Stage,
    front_end: Stage | None,
) -> Stage:
    """parts: see `kokoro_tvm.stages.manifest`; validations: artifact -> its report, without which nothing is
    bundled; front_end: None where the bundle has none."""
    texts = files_of("front_end", front_end, without="tagger.zip") if front_end else {}
    copied = (
        *("libraries/", "kernels/", "machine_code/", "weights/", "runtime", "ffi", "libkokoro/"),
        *("text", "golden"),
    )
    names = [file for name, (_, file) in parts.items() if name.startswith(copied)]
    _, not_run = find_runner(recipe.target.model_dump(mode="json"))
    toolchain = tools_for(recipe.target).toolchain()

    def compiler() -> dict[str, str]:
        c = {"c": compiler_of(recipe).version()} if recipe.runtime.c else {}
        return {"linker": toolchain.version(), "llvm": llvm_version(), **c}

    return place.stage(
        "bundle",
        folder=place.bundle,
        work=place.work,
        doc=f"put the bundle artifacts/{recipe.name} together",
        outputs=(
            *names,
            "voices.safetensors",
            *(["front_end.safetensors"] if front_end else []),
            "provenance.json",
            "bundle.json",
        ),
        inputs={
            **parts,
            **files_of("checkpoint", checkpoint),
            **texts,
            **{f"validations/{artifact}": made for artifact, made in validations.items()},
        },
        parameters={
            "recipe": {key: getattr(recipe, key) for key in ("name", "model", "length", "precision")},
            "languages": None
            if recipe.languages is None
            else {code: each.model_dump() for code, each in recipe.languages.items()},
            "provenance": parameters(recipe),
            "not_run": not_run,
        },
        settings=lambda: {
            "toolchain": versions(*TVM, *TORCH),
            "compiler": compiler(),
        },
        facts=lambda: {
            **compiler(),
            "versions": versions(*TVM, *TORCH),
            "project": __version__,
        },
    )


def run(
    out: Path,
    inputs: Inputs,
    *,
    recipe: dict[str, str],
    languages: dict[str, Any] | None,
    provenance: dict[str, Any],
    not_run: str,
    toolchain: dict[str, str],
    compiler: dict[str, str],
) -> None:
    """Links the parts into the folder, writes provenance.json, and bundle.json last.

    Hard links where the file system has them: objects of the store are replaced, never written to.
    """
    from safetensors import safe_open

    from kokoro_tvm.engine.durable import link
    from kokoro_tvm.runtime.bundle.provenance import FILE
    from kokoro_tvm.stages.files import read_json
    from kokoro_tvm.stages.manifest import GOLDEN, TEXT, component_files, describe
    from kokoro_tvm.stages.provenance import gate_values, statement

    with safe_open(str(inputs["checkpoint/weights.safetensors"]), framework="numpy") as weights:
        metadata = weights.metadata()
    manifest = describe(inputs, recipe, languages, metadata["synthetic"] == "true", toolchain, not_run)
    files = {"voices.safetensors": inputs["voices"]}
    if manifest["golden"] is not None:
        files[GOLDEN] = inputs[GOLDEN]
    if manifest["text"] is not None:
        files[TEXT] = inputs[TEXT]
    if manifest["front_end"] is not None:
        files["front_end.safetensors"] = inputs["front_end/front_end.safetensors"]
    for component in component_files(inputs):
        entry = manifest["components"][component.name]
        files[entry["weights"]["file"]] = component.weights.path
        for library in entry["libraries"]:
            made = component.libraries[library["bucket"]]
            files[library["file"]] = made.file.path
            for key, file in (("kernels", made.kernels), ("machine_code", made.machine_code)):
                if file is not None:
                    files[library[key]["file"]] = file.path
    files |= inputs.group("libkokoro")
    files |= {manifest[role]["file"]: inputs[role] for role in ("runtime", "ffi") if role in inputs}
    for name, path in files.items():
        link(path, out / name)
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    origin = statement(
        files={name: _sha256(manifest, name) for name in files}
        | {"bundle.json": hashlib.sha256(text.encode()).hexdigest()},
        recipe=provenance,
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


def _sha256(manifest: dict[str, Any], name: str) -> str:
    files = ("voices", "front_end", "text", "golden", "runtime", "ffi")
    entries = [entry for key in files if (entry := manifest[key]) is not None] + manifest["libkokoro"]
    for component in manifest["components"].values():
        entries += [component["weights"], *component["libraries"]]
        for library in component["libraries"]:
            entries += [library[key] for key in ("kernels", "machine_code") if library[key] is not None]
    return next(str(entry["sha256"]) for entry in entries if entry["file"] == name)
