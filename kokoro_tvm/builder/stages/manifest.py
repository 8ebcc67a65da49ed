"""The manifest of a bundle whose parts are inputs of a stage.

Inputs are config, machine, parameters/COMPONENT, weights/COMPONENT and libraries/COMPONENT-BUCKET. Optional
are runtime, ffi, voices, kernels/COMPONENT-BUCKET, machine_code/COMPONENT-BUCKET, text.wasm,
front_end/front_end.safetensors, golden.safetensors and libkokoro/FILE.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePath
from typing import Any

from kokoro_tvm import __version__
from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.stages.base import read_json
from kokoro_tvm.common.constants import SAMPLE_RATE, STORAGE_STEPS
from kokoro_tvm.model.signatures import LENGTH, Signature, samples_per_frame, signatures
from kokoro_tvm.runtime.bundle.manifest import SCHEMA, Bundle, Component, EntryPoint, FileRef, Library, Port


def describe(
    inputs: Inputs, recipe: Mapping[str, Any], synthetic: bool, toolchain: Mapping[str, str], not_run: str
) -> tuple[dict[str, Any], dict[str, FileRef]]:
    """Return the content of bundle.json, and its files by their names in the bundle.

    Args:
        inputs: Parts of the bundle.
        recipe: Name, model, length, precision and languages (None: those of the voices).
        synthetic: Whether the weights are synthetic.
        toolchain: Versions of packages.
        not_run: Why the gates were not run, or "".
    """
    parts = _Parts(inputs, recipe["length"])
    manifest = {
        "schema": SCHEMA,
        "version": __version__,
        **{key: recipe[key] for key in ("model", "length", "precision")},
        "recipe": recipe["name"],
        "synthetic": synthetic,
        **parts.facts(),
        "runtime": parts.library("runtime"),
        "ffi": parts.library("ffi"),
        "libkokoro": [parts.add_file(f"libkokoro/{name}") for name in inputs.group("libkokoro")],
        "not_run": not_run or None,
        "languages": recipe["languages"],
        "voices": parts.add_file("voices"),
        "front_end": parts.add_file("front_end/front_end.safetensors"),
        "text": parts.add_file("text.wasm"),
        "golden": parts.add_file("golden.safetensors"),
        "components": parts.components(),
        "toolchain": dict(toolchain),
    }
    return manifest, parts.files


def open_loose_bundle(inputs: Inputs, recipe: Mapping[str, str]) -> Bundle:
    """Return a bundle of the components, and the voices if there are any, that can be run in place.

    Args:
        inputs: Parts of the bundle.
        recipe: Name, model, length and precision.
    """
    parts = _Parts(inputs, recipe["length"])
    components = {name: _component(name, entry, parts.files) for name, entry in parts.components().items()}
    voices = parts.add_file("voices")
    return Bundle(
        root=inputs["machine"].parent,
        recipe=recipe["name"],
        model=recipe["model"],
        length=recipe["length"],
        precision=recipe["precision"],
        synthetic=False,
        **parts.facts(),
        voices=parts.files[voices["file"]] if voices else FileRef(inputs["config"], 0, ""),
        components=components,
        toolchain={},
    )


class _Parts:
    """Parts of a bundle, as entries of its manifest.

    Attributes:
        files: The files that have an entry, by their names in the bundle.
    """

    def __init__(self, inputs: Inputs, length: str) -> None:
        self.files: dict[str, FileRef] = {}
        self._inputs, self._length = inputs, length
        self._config, self._machine = read_json(inputs["config"]), read_json(inputs["machine"])

    def facts(self) -> dict[str, Any]:
        """Return what the runtime needs of the machine and of the model's configuration."""
        return {
            "target": {"kind": self._machine["kind"], **self._machine["options"]},
            "cpu_features": tuple(self._machine["required"]),
            "sample_rate": SAMPLE_RATE,
            "samples_per_frame": samples_per_frame(self._config),
            "style_dim": self._config["style_dim"],
            "context_length": self._config["plbert"]["max_position_embeddings"],
            "vocabulary": dict(self._config["vocab"]),
        }

    def add_file(self, part: str, name: str = "") -> dict[str, Any] | None:
        """Add an input to the files, and return its entry; None if there is no such input."""
        if part not in self._inputs:
            return None
        path = self._inputs[part]
        name = name or f"{PurePath(part).stem}{path.suffix}"
        file = self.files[name] = FileRef(path, path.stat().st_size, self._inputs.sha256(part))
        return {"file": name, "size": file.size, "sha256": file.sha256}

    def library(self, part: str) -> dict[str, Any] | None:
        """Return the entry of a library, which keeps its file's name; None if there is no such input."""
        return self.add_file(part, self._inputs[part].name) if part in self._inputs else None

    def components(self) -> dict[str, dict[str, Any]]:
        """Return signature, weights and libraries of every component."""
        table = signatures(self._config)
        return {name: self._component(table[name]) for name in self._inputs.group("parameters")}

    def _component(self, signature: Signature) -> dict[str, Any]:
        """Return the entry of a component."""
        name = signature.component
        parameters = read_json(self._inputs[f"parameters/{name}"])
        eager = bool(self._machine["features"].get("eager_memory", False))  # false features are left out
        return {
            "axis": signature.axis,
            **self._describe_function(signature),
            "outputs": [asdict(t) for t in signature.outputs],
            "parameters": [{key: p[key] for key in ("name", "dtype", "shape")} for p in parameters],
            "weights": self.add_file(f"weights/{name}"),
            "libraries": [
                {
                    "bucket": bucket,
                    **(self.add_file(f"libraries/{name}-{bucket}") or {}),
                    "kernels": self.add_file(f"kernels/{name}-{bucket}"),
                    "machine_code": self.add_file(f"machine_code/{name}-{bucket}"),
                }
                for bucket in self._buckets(name)
            ],
            "storage_step": 1 if eager or self._length != "exact" else STORAGE_STEPS[signature.axis],
            "seeded": None if signature.seeded is None else self._describe_function(signature.seeded),
        }

    def _buckets(self, component: str) -> list[int]:
        """Return the buckets of a component in ascending order."""
        artifacts = (artifact.rpartition("-") for artifact in self._inputs.group("libraries"))
        return sorted(int(bucket) for owner, _, bucket in artifacts if owner == component)

    def _describe_function(self, signature: Signature) -> dict[str, Any]:
        """Return name and inputs of a function as it is compiled."""
        inputs = (*signature.inputs, LENGTH) if self._length == "masked" else signature.inputs
        ports = [asdict(t) for t in inputs]
        # The pass `narrow` has narrowed the integer inputs of GPU kernels.
        if any(name.startswith(f"{signature.component}-") for name in self._inputs.group("kernels")):
            ports = [port | {"dtype": "int32"} if port["dtype"] == "int64" else port for port in ports]
        return {"function": signature.function, "inputs": ports}


def _component(name: str, entry: Mapping[str, Any], files: Mapping[str, FileRef]) -> Component:
    """Return the component of an entry of the manifest."""

    def file(of: Mapping[str, Any] | None) -> FileRef | None:
        """Return the file of an entry; None if there is none."""
        return files[of["file"]] if of else None

    seeded = entry["seeded"]
    return Component(
        name=name,
        axis=entry["axis"],
        function=entry["function"],
        inputs=_parse_ports(entry["inputs"]),
        outputs=_parse_ports(entry["outputs"]),
        parameters=_parse_ports(entry["parameters"]),
        weights=files[entry["weights"]["file"]],
        libraries=tuple(
            Library(e["bucket"], files[e["file"]], file(e["kernels"]), file(e["machine_code"]))
            for e in entry["libraries"]
        ),
        storage_step=entry["storage_step"],
        seeded=EntryPoint(seeded["function"], _parse_ports(seeded["inputs"])) if seeded else None,
    )


def _parse_ports(entries: Sequence[Mapping[str, Any]]) -> tuple[Port, ...]:
    """Return the inputs or outputs of a function from the manifest's entries."""
    return tuple(Port(e["name"], e["dtype"], tuple(e["shape"])) for e in entries)
