"""The manifest of a bundle, `bundle.json`: its types, and its reader."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from kokoro_tvm import __version__
from kokoro_tvm.common.constants import COMPONENTS
from kokoro_tvm.common.errors import BundleError, InputError
from kokoro_tvm.runtime.bundle.languages import KOKORO, SpokenLanguage
from kokoro_tvm.runtime.bundle.node import ManifestNode

SCHEMA = 5
"""The version of the layout of bundle.json. It decides alone whether a runtime reads a bundle; it changes
only if an older runtime cannot read the new layout."""
_FORBIDDEN_IN_NAMES = frozenset("\\:\0")
LENGTHS = ("exact", "masked", "padded")


@dataclass(frozen=True)
class FileRef:
    """A file of the bundle according to the manifest: path, size in bytes, SHA-256 in hexadecimal."""

    path: Path
    size: int
    sha256: str


@dataclass(frozen=True)
class Port:
    """An input, output or parameter of a component; strings in `shape` depend on the length."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]


@dataclass(frozen=True)
class Library:
    """Compiled code of a component for one bucket.

    Attributes:
        bucket: the maximum length on the component's axis.
        file: the shared library.
        kernels: GPU kernels that it launches, as source; None on a CPU.
        machine_code: the same kernels compiled; None if the GPU's driver compiles them.
    """

    bucket: int
    file: FileRef
    kernels: FileRef | None = None
    machine_code: FileRef | None = None


@dataclass(frozen=True)
class EntryPoint:
    """A second function of a component's libraries, with other inputs."""

    function: str
    inputs: tuple[Port, ...]


@dataclass(frozen=True)
class Component:
    """A compiled part of the model.

    Attributes:
        name: one of COMPONENTS.
        axis: of its length, "tokens" or "frames".
        function: the entry point.
        inputs: of the function, weights excluded.
        outputs: of the function.
        parameters: weights, in the order of the signature.
        weights: file of the parameters.
        libraries: one per bucket, smallest first.
        storage_step: a call reserves memory for the next multiple of so many tokens or frames.
        seeded: the decoder's entry point that takes a seed instead of noise.
    """

    name: str
    axis: str
    function: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    parameters: tuple[Port, ...]
    weights: FileRef
    libraries: tuple[Library, ...]
    storage_step: int
    seeded: EntryPoint | None = None

    @property
    def buckets(self) -> tuple[int, ...]:
        """Buckets in ascending order."""
        return tuple(library.bucket for library in self.libraries)


@dataclass(frozen=True)
class Bundle:
    """The manifest of a bundle.

    Attributes:
        root: folder of the bundle.
        recipe: name of the recipe that it was built from.
        model: name of the model.
        length: policy of lengths, one of LENGTHS.
        precision: of the weights, such as "float32".
        synthetic: whether the weights are random.
        sample_rate: in Hz.
        samples_per_frame: of audio.
        style_dim: half the width of `ref_s`.
        context_length: maximum number of tokens of the model.
        vocabulary: phoneme -> token id.
        voices: file of the style tables.
        components: by name.
        cpu_features: that the code needs.
        toolchain: name -> version.
        runtime: `libtvm_runtime` for the target; None if it has to be installed.
        ffi: the `libtvm_ffi` that fits `runtime`, for programs other than Python.
        libkokoro: the C library, its program and its header, if any.
        not_run: why the gates were not run, "" if they were.
        languages: by the first letter of names of voices; another voice speaks the first of them.
        target: kind and options of the resolved recipe.
        front_end: data of the front end; None: English uses the installed packages.
        text: code of the front end, for browsers.
        golden: what pages compare their speech with, for browsers.
        schema: of bundle.json.
        version: of the kokoro-tvm that wrote the bundle, for information.
        sha256: of bundle.json, which has the digests of all other files; "" if it was not read from a file.
    """

    root: Path
    recipe: str
    model: str
    length: str
    precision: str
    synthetic: bool
    sample_rate: int
    samples_per_frame: int
    style_dim: int
    context_length: int
    vocabulary: dict[str, int]
    voices: FileRef
    components: dict[str, Component]
    cpu_features: tuple[str, ...]
    toolchain: dict[str, str]
    runtime: FileRef | None = None
    ffi: FileRef | None = None
    libkokoro: tuple[FileRef, ...] = ()
    not_run: str = ""
    languages: Mapping[str, SpokenLanguage] = field(default_factory=lambda: KOKORO)
    target: dict[str, Any] = field(default_factory=dict)
    front_end: FileRef | None = None
    text: FileRef | None = None
    golden: FileRef | None = None
    schema: int = SCHEMA
    version: str = ""
    sha256: str = ""

    def largest(self, axis: str) -> int:
        """Return the maximum length on `axis`, "tokens" or "frames", that every component accepts."""
        return min(c.buckets[-1] for c in self.components.values() if c.axis == axis)

    @property
    def gpu(self) -> str | None:
        """The kind of GPU that components run on; None if all run on the CPU."""
        libraries = (library for component in self.components.values() for library in component.libraries)
        on_gpu = any(library.kernels is not None for library in libraries)
        return str(self.target["kind"]) if on_gpu else None

    def entry(self, name: str) -> Component:
        """Return the component of an entry point; `decoder_seeded` is the second one of `decoder`."""
        component = self.components[name.removesuffix("_seeded")]
        if component.name == name:
            return component
        if component.seeded is None:
            raise KeyError(name)
        return replace(component, function=component.seeded.function, inputs=component.seeded.inputs)

    def files(self) -> tuple[FileRef, ...]:
        """Return every file with a digest in the manifest."""
        optional = (file for file in (self.front_end, self.text, self.golden) if file is not None)
        return (self.voices, *optional, *self.libkokoro, *self.component_files())

    def component_files(self) -> tuple[FileRef, ...]:
        """Return weights, libraries and the TVM runtime."""
        return (*(c.weights for c in self.components.values()), *self.code_files())

    def code_files(self) -> tuple[FileRef, ...]:
        """Return the files with code."""
        libraries = tuple(
            file
            for component in self.components.values()
            for library in component.libraries
            for file in (library.file, library.kernels, library.machine_code)
            if file is not None
        )
        return (*(file for file in (self.runtime, self.ffi) if file is not None), *libraries)


def read_bundle(path: str | Path, sha256: str | None = None) -> Bundle:
    """Read and check `PATH/bundle.json`; no other file is opened.

    Args:
        path: folder of the bundle.
        sha256: the digest that bundle.json must have, from another source than the bundle; it pins all files.

    Raises:
        BundleError: no such folder or manifest, another digest, no JSON, another schema, or an invalid entry.
        InputError: `sha256` is not 64 hexadecimal digits.
    """
    pin = None if sha256 is None else _check_pin(sha256)
    root = Path(path)
    manifest = root / "bundle.json"
    if root.is_file():
        raise BundleError(f"{root} is a file; a bundle is a folder. Name the folder: {root.parent}.")
    if not root.is_dir():
        raise BundleError(
            f"There is no bundle at {root}: the folder does not exist. "
            "Run `doit` in the repository to build one, `kokoro-tvm pull` to bring one, or name another with "
            "--bundle."
        )
    try:
        content = manifest.read_bytes()
    except FileNotFoundError as error:
        raise BundleError(
            f"{root} is not a complete bundle: bundle.json, which a build writes last, is missing. "
            "Build or copy the bundle again."
        ) from error
    except OSError as error:
        raise BundleError(
            f"{manifest} cannot be read ({error.strerror}). Make it readable, or copy the bundle again."
        ) from error
    digest = hashlib.sha256(content).hexdigest()
    if pin not in (None, digest):
        raise BundleError(
            f"{manifest} has sha256 {digest}, but {pin} was given: this is another bundle, or it was "
            "changed. Do not load it; get the bundle again from where the digest comes from."
        )
    try:
        raw: Any = json.loads(content)
    except (ValueError, RecursionError) as error:  # JSONDecodeError and UnicodeDecodeError are ValueErrors
        raise BundleError(f"{manifest} is no readable JSON ({error}). Build or copy it again.") from error
    node = ManifestNode(raw, str(manifest))
    _check_schema(node)
    return _read_manifest(root, node, digest)


def _check_pin(sha256: str) -> str:
    if not isinstance(sha256, str) or not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise InputError(
            f"The sha256 of a bundle should be 64 hexadecimal digits, but is {sha256!r}. "
            "`kokoro-tvm inspect BUNDLE` prints it."
        )
    return sha256.lower()


def _check_schema(node: ManifestNode) -> None:
    """Refuse a layout that this version does not read."""
    if (schema := node.get("schema", int)) != SCHEMA:
        update = "Update kokoro-tvm, or build the bundle with this version."
        raise BundleError(
            f"{node.place} has schema {schema}; kokoro-tvm {__version__} reads schema {SCHEMA}. "
            + (update if schema > SCHEMA else "Build the bundle again.")
        )


def _read_manifest(root: Path, node: ManifestNode, digest: str) -> Bundle:
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
        style_dim=_positive(node, "style_dim"),
        context_length=_positive(node, "context_length"),
        vocabulary={symbol: vocabulary.get(symbol, int) for symbol in vocabulary.names()},
        voices=_file(root, node.child("voices")),
        front_end=_file(root, node.child("front_end")) if node.has("front_end") else None,
        text=_file(root, node.child("text")) if node.has("text") else None,
        golden=_file(root, node.child("golden")) if node.has("golden") else None,
        components={name: _component(root, name, components.child(name)) for name in COMPONENTS},
        cpu_features=tuple(str(feature) for feature in node.get("cpu_features", list)),
        toolchain={name: toolchain.get(name, str) for name in toolchain.names()},
        target=node.get("target", dict),
        runtime=_file(root, node.child("runtime")) if node.has("runtime") else None,
        ffi=_file(root, node.child("ffi")) if node.has("ffi") else None,
        libkokoro=_files(root, node, "libkokoro"),
        not_run=node.get("not_run", str) if node.has("not_run") else "",
        languages=_languages(node.child("languages")) if node.has("languages") else KOKORO,
        schema=node.get("schema", int),
        version=node.get("version", str),
        sha256=digest,
    )


def _component(root: Path, name: str, node: ManifestNode) -> Component:
    libraries = [
        Library(
            _positive(library, "bucket"),
            _file(root, library),
            _file(root, library.child("kernels")) if library.has("kernels") else None,
            _file(root, library.child("machine_code")) if library.has("machine_code") else None,
        )
        for library in node.children("libraries")
    ]
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
        storage_step=_positive(node, "storage_step"),
        seeded=_entry(node.child("seeded")) if name == "decoder" else None,
    )


def _languages(node: ManifestNode) -> dict[str, SpokenLanguage]:
    entries = {code: node.child(code) for code in node.names()}
    if not entries:
        raise BundleError(f"{node.place} names no language. Build the bundle again.")
    return {
        code: SpokenLanguage(
            entry.get("name", str), entry.get("espeak", str) if entry.has("espeak") else None
        )
        for code, entry in entries.items()
    }


def _entry(node: ManifestNode) -> EntryPoint:
    return EntryPoint(node.get("function", str), _ports(node, "inputs"))


def _ports(node: ManifestNode, key: str) -> tuple[Port, ...]:
    return tuple(
        Port(port.get("name", str), port.get("dtype", str), tuple(port.get("shape", list)))
        for port in node.children(key)
    )


def _files(root: Path, node: ManifestNode, key: str) -> tuple[FileRef, ...]:
    return tuple(_file(root, child) for child in node.children(key)) if node.has(key) else ()


def _file(root: Path, node: ManifestNode) -> FileRef:
    name = node.get("file", str)
    pure = PurePosixPath(name)
    # On Windows, \\ separates folders and : follows a drive or precedes a stream; no build writes them.
    if not name or pure.is_absolute() or ".." in pure.parts or not _FORBIDDEN_IN_NAMES.isdisjoint(name):
        raise BundleError(f"{node.place}: the file {name!r} lies outside the bundle. Build the bundle again.")
    return FileRef(root / pure, node.get("size", int), node.get("sha256", str))


def _positive(node: ManifestNode, key: str) -> int:
    value = node.get(key, int)
    if value <= 0:
        raise BundleError(f"{node.place}: '{key}' should be positive but is {value}. Build the bundle again.")
    return value


def _one_of(node: ManifestNode, key: str, allowed: Iterable[str]) -> str:
    value = node.get(key, str)
    if value not in tuple(allowed):
        raise BundleError(f"{node.place}: '{key}' is {value!r}, not {' or '.join(allowed)}. Build it again.")
    return value
