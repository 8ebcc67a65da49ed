"""Puts a bundle together: the manifest the runtime reads, written last, beside copies of what it names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kokoro_tvm import __version__
from kokoro_tvm.build.digest import file_sha256
from kokoro_tvm.build.durable import link
from kokoro_tvm.model.signatures import LENGTH, signatures
from kokoro_tvm.runtime.bundle import SCHEMA, Bundle, Component, FileRef, Library, Port
from kokoro_tvm.runtime.provenance import FILE as PROVENANCE

__all__ = ["ComponentFiles", "describe", "single_bundle", "write_bundle"]


@dataclass(frozen=True)
class ComponentFiles:
    """Where the files of one component are: its parameter list, packed weights and a library per bucket."""

    name: str
    parameters: Path
    weights: Path
    libraries: Mapping[int, Path]


def describe(
    recipe: Mapping[str, Any],
    config: Mapping[str, Any],
    machine: Mapping[str, Any],
    components: Sequence[ComponentFiles],
    voices: Path,
    synthetic: bool,
    toolchain: Mapping[str, str],
) -> dict[str, Any]:
    """The content of bundle.json. recipe: name, model, length, precision; config: config.json's content."""
    table = signatures(config)
    samples = 2 * _product(config["istftnet"]["upsample_rates"]) * config["istftnet"]["gen_istft_hop_size"]
    return {
        "schema": SCHEMA,
        "version": __version__,
        **{key: recipe[key] for key in ("model", "length", "precision")},
        "recipe": recipe["name"],
        "synthetic": synthetic,
        "target": {key: machine[key] for key in ("kind", "mtriple", "mcpu", "mattr")},
        "cpu_features": list(machine["required"]),
        "sample_rate": 24000,
        "samples_per_frame": samples,
        "noise_channels": 9,
        "style_dim": config["style_dim"],
        "context_length": config["plbert"]["max_position_embeddings"],
        "vocabulary": dict(config["vocab"]),
        "voices": _file(voices, "voices.safetensors"),
        "components": {
            files.name: _component(files, table[files.name], recipe["length"]) for files in components
        },
        "toolchain": dict(toolchain),
    }


def write_bundle(
    folder: Path,
    manifest: Mapping[str, Any],
    sources: Mapping[str, Path],
    provenance: Callable[[Mapping[str, str]], Mapping[str, Any]],
) -> None:
    """Puts a bundle into an empty folder, the manifest last.

    provenance: from the files' digests, the manifest's among them, to the content of provenance.json.
    sources: file name in the bundle -> where it is built. Hard links where the file system allows them: they
    are never written to again, only replaced.
    """
    for name, source in sources.items():
        link(source, folder / name)
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    digests = {entry["file"]: entry["sha256"] for entry in _files(manifest)}
    digests["bundle.json"] = hashlib.sha256(text.encode()).hexdigest()
    told = json.dumps(provenance(digests), indent=1, ensure_ascii=False)
    (folder / PROVENANCE).write_text(told, encoding="utf-8")
    (folder / "bundle.json").write_text(text, encoding="utf-8")


def single_bundle(told: Mapping[str, Any]) -> Bundle:
    """A bundle of one artifact that is not in a bundle yet, for its validation.

    told: recipe, config, machine (as for `describe`), component, bucket, and the paths parameters, weights
    and library.
    """
    files = ComponentFiles(
        told["component"],
        Path(told["parameters"]),
        Path(told["weights"]),
        {told["bucket"]: Path(told["library"])},
    )
    config = json.loads(Path(told["config"]).read_text(encoding="utf-8"))
    machine = json.loads(Path(told["machine"]).read_text(encoding="utf-8"))
    entry = _component(files, signatures(config)[files.name], told["recipe"]["length"])
    component = Component(
        name=files.name,
        axis=entry["axis"],
        function=entry["function"],
        inputs=_ports(entry["inputs"]),
        outputs=_ports(entry["outputs"]),
        parameters=_ports(entry["parameters"]),
        weights=FileRef(files.weights, entry["weights"]["size"], entry["weights"]["sha256"]),
        libraries=tuple(
            Library(lib["bucket"], FileRef(files.libraries[lib["bucket"]], lib["size"], lib["sha256"]))
            for lib in entry["libraries"]
        ),
    )
    samples = 2 * _product(config["istftnet"]["upsample_rates"]) * config["istftnet"]["gen_istft_hop_size"]
    return Bundle(
        root=files.weights.parent,
        recipe=told["recipe"]["name"],
        model=told["recipe"]["model"],
        length=told["recipe"]["length"],
        precision=told["recipe"]["precision"],
        synthetic=False,
        sample_rate=24000,
        samples_per_frame=samples,
        noise_channels=9,
        style_dim=config["style_dim"],
        context_length=config["plbert"]["max_position_embeddings"],
        vocabulary=config["vocab"],
        voices=FileRef(files.weights, 0, ""),
        components={files.name: component},
        cpu_features=tuple(machine["required"]),
        toolchain={},
    )


def _component(files: ComponentFiles, signature: Any, length: str) -> dict[str, Any]:
    parameters = json.loads(files.parameters.read_text(encoding="utf-8"))
    inputs = (*signature.inputs, LENGTH) if length == "masked" else signature.inputs
    return {
        "axis": signature.axis,
        "function": signature.function,
        "inputs": [_port(t) for t in inputs],
        "outputs": [_port(t) for t in signature.outputs],
        "parameters": [{key: p[key] for key in ("name", "dtype", "shape")} for p in parameters],
        "weights": _file(files.weights, f"{files.name}.safetensors"),
        "libraries": [
            {"bucket": bucket} | _file(path, f"{files.name}-{bucket}.so")
            for bucket, path in sorted(files.libraries.items())
        ],
    }


def _files(manifest: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The entries of a manifest that are about files."""
    yield manifest["voices"]
    for component in manifest["components"].values():
        yield component["weights"]
        yield from component["libraries"]


def _port(tensor: Any) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "dtype": tensor.dtype,
        "shape": list(tensor.shape),
        "meaning": tensor.meaning,
    }


def _ports(entries: Sequence[Mapping[str, Any]]) -> tuple[Port, ...]:
    return tuple(Port(e["name"], e["dtype"], tuple(e["shape"])) for e in entries)


def _file(path: Path, name: str) -> dict[str, Any]:
    return {"file": name, "size": path.stat().st_size, "sha256": file_sha256(path)}


def _product(rates: Sequence[int]) -> int:
    result = 1
    for rate in rates:
        result *= rate
    return result
