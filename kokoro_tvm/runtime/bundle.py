"""What a bundle holds, read from its `bundle.json`, and all that makes one refused before it speaks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from kokoro_tvm import __version__
from kokoro_tvm.errors import BundleError
from kokoro_tvm.runtime._node import Node

__all__ = ["SCHEMA", "Bundle", "Component", "FileRef", "Library", "Port", "read_bundle"]

SCHEMA = 1
COMPONENTS = ("bert", "duration", "text_encoder", "f0n", "decoder")
LENGTHS = ("exact", "masked", "padded")


@dataclass(frozen=True)
class FileRef:
    """A file of the bundle: path, size in bytes and sha256 in hexadecimal, as the manifest gives them."""

    path: Path
    size: int
    sha256: str


@dataclass(frozen=True)
class Port:
    """A tensor that goes into or comes out of a component; text in `shape` depends on the length."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]


@dataclass(frozen=True)
class Library:
    """Compiled code of one component for one bucket (the largest length it takes on the component's axis)."""

    bucket: int
    file: FileRef


@dataclass(frozen=True)
class Component:
    """One compiled part of the model: signature, weights and a library per bucket, smallest bucket first."""

    name: str
    axis: str
    function: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    parameters: tuple[Port, ...]
    weights: FileRef
    libraries: tuple[Library, ...]

    @property
    def buckets(self) -> tuple[int, ...]:
        """Buckets in rising order."""
        return tuple(library.bucket for library in self.libraries)


@dataclass(frozen=True)
class Bundle:
    """A bundle's manifest. Lengths in tokens or frames, `sample_rate` in Hz, `style_dim` half of `ref_s`."""

    root: Path
    recipe: str
    model: str
    length: str
    precision: str
    synthetic: bool
    sample_rate: int
    samples_per_frame: int
    noise_channels: int
    style_dim: int
    context_length: int
    vocabulary: dict[str, int]
    voices: FileRef
    components: dict[str, Component]
    cpu_features: tuple[str, ...]
    toolchain: dict[str, str]

    def largest(self, axis: str) -> int:
        """Longest utterance on `axis` ("tokens" or "frames") that every component on it takes."""
        return min(c.buckets[-1] for c in self.components.values() if c.axis == axis)

    def files(self) -> tuple[FileRef, ...]:
        """Every file the manifest vouches for."""
        owned = [f for c in self.components.values() for f in (c.weights, *(lib.file for lib in c.libraries))]
        return (self.voices, *owned)


def read_bundle(path: str | Path) -> Bundle:
    """Read and check `PATH/bundle.json` alone (no other file is opened).

    Raises:
        BundleError: no such folder or manifest, not JSON, another schema or version, or an entry that makes
            no sense; the message names what was found and what was expected.
    """
    root = Path(path)
    manifest = root / "bundle.json"
    if root.is_file():
        raise BundleError(f"{root} is a file; a bundle is a folder. Name the folder: {root.parent}.")
    if not root.is_dir():
        raise BundleError(
            f"There is no bundle at {root}: the folder does not exist. "
            "Run `doit` in the repository to build one, or name another with --bundle."
        )
    if not manifest.is_file():
        raise BundleError(
            f"{root} is not a complete bundle: bundle.json, which a build writes last, is missing. "
            "Build or copy the bundle again."
        )
    try:
        raw: Any = json.loads(manifest.read_bytes())
    except ValueError as error:  # JSONDecodeError and UnicodeDecodeError both
        raise BundleError(f"{manifest} is no readable JSON ({error}). Build or copy it again.") from error
    node = Node(raw, str(manifest))
    _require(node, "schema", node.get("schema", int), SCHEMA)
    _require(node, "version", node.get("version", str), __version__)
    return _bundle(root, node)


def _bundle(root: Path, node: Node) -> Bundle:
    components = node.child("components")
    missing = [name for name in COMPONENTS if name not in components.names()]
    if missing:
        raise BundleError(f"{node.place} lacks the component {', '.join(missing)}. Build the bundle again.")
    vocabulary = node.child("vocabulary")
    toolchain = node.child("toolchain")
    return Bundle(
        root=root,
        recipe=node.get("recipe", str),
        model=node.get("model", str),
        length=_one_of(node, "length", LENGTHS),
        precision=node.get("precision", str),
        synthetic=node.get("synthetic", bool),
        sample_rate=_positive(node, "sample_rate"),
        samples_per_frame=_positive(node, "samples_per_frame"),
        noise_channels=_positive(node, "noise_channels"),
        style_dim=_positive(node, "style_dim"),
        context_length=_positive(node, "context_length"),
        vocabulary={symbol: vocabulary.get(symbol, int) for symbol in vocabulary.names()},
        voices=_file(root, node.child("voices")),
        components={name: _component(root, name, components.child(name)) for name in COMPONENTS},
        cpu_features=tuple(str(feature) for feature in node.get("cpu_features", list)),
        toolchain={name: toolchain.get(name, str) for name in toolchain.names()},
    )


def _component(root: Path, name: str, node: Node) -> Component:
    libraries = [Library(_positive(lib, "bucket"), _file(root, lib)) for lib in node.children("libraries")]
    if not libraries:
        raise BundleError(f"{node.place} has no library. Build the bundle again.")
    return Component(
        name=name,
        axis=_one_of(node, "axis", ("tokens", "frames")),
        function=node.get("function", str),
        inputs=_ports(node, "inputs"),
        outputs=_ports(node, "outputs"),
        parameters=_ports(node, "parameters"),
        weights=_file(root, node.child("weights")),
        libraries=tuple(sorted(libraries, key=lambda library: library.bucket)),
    )


def _ports(node: Node, key: str) -> tuple[Port, ...]:
    return tuple(
        Port(port.get("name", str), port.get("dtype", str), tuple(port.get("shape", list)))
        for port in node.children(key)
    )


def _file(root: Path, node: Node) -> FileRef:
    name = node.get("file", str)
    pure = PurePosixPath(name)
    if not name or pure.is_absolute() or ".." in pure.parts or "\0" in name:
        raise BundleError(f"{node.place}: the file {name!r} lies outside the bundle. Build the bundle again.")
    return FileRef(root / pure, node.get("size", int), node.get("sha256", str))


def _positive(node: Node, key: str) -> int:
    value = node.get(key, int)
    if value <= 0:
        raise BundleError(f"{node.place}: '{key}' should be positive but is {value}. Build the bundle again.")
    return value


def _one_of(node: Node, key: str, allowed: Iterable[str]) -> str:
    value = node.get(key, str)
    if value not in tuple(allowed):
        raise BundleError(f"{node.place}: '{key}' is {value!r}, not {' or '.join(allowed)}. Build it again.")
    return value


def _require(node: Node, key: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise BundleError(
            f"{node.place} has {key} {found!r}, but this kokoro-tvm reads {key} {wanted!r}. "
            "Build the bundle again with this version, or use the version that built it."
        )
