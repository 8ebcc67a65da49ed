"""A bundle's manifest, and bundles that are not in a folder of their own yet.

Their parts are inputs of a stage: config, machine; runtime, ffi and voices (if needed); parameters/COMPONENT,
weights/COMPONENT and libraries/COMPONENT-BUCKET; kernels/COMPONENT-BUCKET, machine_code/COMPONENT-BUCKET,
front_end/front_end.safetensors, text.wasm, golden.safetensors and libkokoro/FILE where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kokoro_tvm import __version__
from kokoro_tvm.constants import SAMPLE_RATE
from kokoro_tvm.engine.inputs import Inputs
from kokoro_tvm.model.signatures import LENGTH, Signature, TensorSpec, samples_per_frame, signatures
from kokoro_tvm.runtime.bundle.manifest import SCHEMA, Bundle, Component, Entry, FileRef, Library, Port
from kokoro_tvm.runtime.bundle.storage import storage_step
from kokoro_tvm.stages.files import read_json

__all__ = ["GOLDEN", "TEXT", "ComponentFiles", "component_files", "describe", "loose_bundle"]

GOLDEN = "golden.safetensors"
TEXT = "text.wasm"

_FRONT_END = "front_end/front_end.safetensors"


@dataclass(frozen=True)
class ComponentFiles:
    """Where the files of one component are: packed weights, a library a bucket, and the parameters they
    take."""

    name: str
    parameters: Sequence[Mapping[str, Any]]
    weights: FileRef
    libraries: Mapping[int, Library]


def component_files(inputs: Inputs) -> list[ComponentFiles]:
    """The components among a stage's inputs."""
    libraries: dict[str, dict[int, Library]] = {}
    for name in inputs.group("libraries"):
        component, _, bucket = name.rpartition("-")
        kernels = _file(inputs, f"kernels/{name}") if f"kernels/{name}" in inputs else None
        code = _file(inputs, f"machine_code/{name}") if f"machine_code/{name}" in inputs else None
        library = Library(int(bucket), _file(inputs, f"libraries/{name}"), kernels, code)
        libraries.setdefault(component, {})[library.bucket] = library
    return [
        ComponentFiles(
            component,
            read_json(path),
            _file(inputs, f"weights/{component}"),
            dict(sorted(libraries[component].items())),
        )
        for component, path in inputs.group("parameters").items()
    ]


def describe(
    inputs: Inputs,
    recipe: Mapping[str, str],
    languages: Mapping[str, Any] | None,
    synthetic: bool,
    toolchain: Mapping[str, str],
    not_run: str = "",
) -> dict[str, Any]:
    """The content of bundle.json. recipe: name, model, length, precision; languages: the recipe's, None where
    it has none; not_run: why its gates were not run."""
    config, machine = read_json(inputs["config"]), read_json(inputs["machine"])
    table, eager = signatures(config), _has_eager_memory(machine)
    return {
        "schema": SCHEMA,
        "version": __version__,
        **{key: recipe[key] for key in ("model", "length", "precision")},
        "recipe": recipe["name"],
        "synthetic": synthetic,
        "target": {"kind": machine["kind"], **machine["options"]},
        "cpu_features": list(machine["required"]),
        **_constants(config),
        **{
            role: _entry(inputs[role].name, _file(inputs, role)) if role in inputs else None
            for role in ("runtime", "ffi")
        },
        "libkokoro": [_entry(name, _file(inputs, f"libkokoro/{name}")) for name in inputs.group("libkokoro")],
        "not_run": not_run or None,
        "languages": None if languages is None else dict(languages),
        "voices": _entry("voices.safetensors", _file(inputs, "voices")),
        "front_end": _entry("front_end.safetensors", _file(inputs, _FRONT_END))
        if _FRONT_END in inputs
        else None,
        "text": _entry(TEXT, _file(inputs, TEXT)) if TEXT in inputs else None,
        "golden": _entry(GOLDEN, _file(inputs, GOLDEN)) if GOLDEN in inputs else None,
        "components": {
            files.name: _component(files, table[files.name], recipe["length"], eager)
            for files in component_files(inputs)
        },
        "toolchain": dict(toolchain),
    }


def loose_bundle(inputs: Inputs, recipe: Mapping[str, str]) -> Bundle:
    """The components among the inputs, and the voices if they are there, as a bundle that can be run.

    recipe: name, model, length, precision.
    """
    config, machine = read_json(inputs["config"]), read_json(inputs["machine"])
    components: dict[str, Component] = {}
    eager = _has_eager_memory(machine)
    for files in component_files(inputs):
        entry = _component(files, signatures(config)[files.name], recipe["length"], eager)
        components[files.name] = Component(
            name=files.name,
            axis=entry["axis"],
            function=entry["function"],
            inputs=_ports(entry["inputs"]),
            outputs=_ports(entry["outputs"]),
            parameters=_ports(entry["parameters"]),
            weights=files.weights,
            libraries=tuple(files.libraries.values()),
            storage_step=entry["storage_step"],
            seeded=Entry(entry["seeded"]["function"], _ports(entry["seeded"]["inputs"]))
            if entry["seeded"]
            else None,
        )
    return Bundle(
        root=inputs["machine"].parent,
        recipe=recipe["name"],
        model=recipe["model"],
        length=recipe["length"],
        precision=recipe["precision"],
        synthetic=False,
        **_constants(config),
        voices=_file(inputs, "voices") if "voices" in inputs else FileRef(inputs["config"], 0, ""),
        front_end=_file(inputs, _FRONT_END) if _FRONT_END in inputs else None,
        components=components,
        cpu_features=tuple(machine["required"]),
        target={"kind": machine["kind"], **machine["options"]},
        toolchain={},
    )


def _constants(config: Mapping[str, Any]) -> dict[str, Any]:
    """What of a model's configuration the runtime needs, by its names in a manifest."""
    return {
        "sample_rate": SAMPLE_RATE,
        "samples_per_frame": samples_per_frame(config),
        "style_dim": config["style_dim"],
        "context_length": config["plbert"]["max_position_embeddings"],
        "vocabulary": dict(config["vocab"]),
    }


def _has_eager_memory(machine: Mapping[str, Any]) -> bool:
    """`Features.eager_memory` of a machine's file, which leaves out what is false."""
    return bool(machine["features"].get("eager_memory", False))


def _component(files: ComponentFiles, signature: Signature, length: str, eager: bool) -> dict[str, Any]:
    on_gpu = any(library.kernels is not None for library in files.libraries.values())
    return {
        "axis": signature.axis,
        **_entry_of(signature, length, on_gpu),
        "outputs": [_port(t) for t in signature.outputs],
        "parameters": [{key: p[key] for key in ("name", "dtype", "shape")} for p in files.parameters],
        "weights": _entry(f"{files.name}.safetensors", files.weights),
        "libraries": [_library(files.name, library) for library in files.libraries.values()],
        "storage_step": storage_step(signature.axis, eager) if length == "exact" else 1,
        "seeded": None if signature.seeded is None else _entry_of(signature.seeded, length, on_gpu),
    }


def _library(component: str, library: Library) -> dict[str, Any]:
    name = f"{component}-{library.bucket}"

    def entry(file: FileRef | None) -> dict[str, Any] | None:
        return _entry(f"{name}{file.path.suffix}", file) if file is not None else None

    return {
        "bucket": library.bucket,
        **_entry(f"{name}{library.file.path.suffix}", library.file),
        "kernels": entry(library.kernels),
        "machine_code": entry(library.machine_code),
    }


def _entry_of(signature: Signature, length: str, on_gpu: bool) -> dict[str, Any]:
    """The pass `narrow` has made wide integers narrow where a GPU takes them."""
    inputs = (*signature.inputs, LENGTH) if length == "masked" else signature.inputs
    ports = [_port(t) for t in inputs]
    if on_gpu:
        ports = [port | {"dtype": "int32"} if port["dtype"] == "int64" else port for port in ports]
    return {"function": signature.function, "inputs": ports}


def _port(tensor: TensorSpec) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "dtype": tensor.dtype,
        "shape": list(tensor.shape),
        "meaning": tensor.meaning,
    }


def _ports(entries: Sequence[Mapping[str, Any]]) -> tuple[Port, ...]:
    return tuple(Port(e["name"], e["dtype"], tuple(e["shape"])) for e in entries)


def _file(inputs: Inputs, name: str) -> FileRef:
    return FileRef(inputs[name], inputs[name].stat().st_size, inputs.sha256(name))


def _entry(name: str, file: FileRef) -> dict[str, Any]:
    return {"file": name, "size": file.size, "sha256": file.sha256}
