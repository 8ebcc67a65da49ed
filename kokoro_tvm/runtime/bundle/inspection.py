"""Metadata of a library or a bundle; nothing is loaded or executed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime.bundle.executable import read_manifest
from kokoro_tvm.runtime.bundle.files import OpenFile, OpenFiles
from kokoro_tvm.runtime.bundle.manifest import Bundle, Component, Library, read_bundle
from kokoro_tvm.runtime.bundle.provenance import verify_provenance
from kokoro_tvm.runtime.bundle.verification import verify_files
from kokoro_tvm.runtime.threads import usable_cores


def inspect_library(path: Path) -> dict[str, Any]:
    """Return the manifest of a library, which may be for another kind of machine.

    Returns:
        component, bucket, length, precision, project, target, cpu_features, program, schedule (sha256; null
        if every layer uses the default rules), toolchain.

    Raises:
        BundleError: there is no such file, or it is no library that kokoro-tvm compiled.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BundleError(f"{path} cannot be read ({error.strerror}). Name a compiled library.") from error
    return _read_manifest(path, content)


def inspect_bundle(path: Path) -> dict[str, Any]:
    """Verify every file of a bundle, and return its metadata.

    Returns:
        sha256 (of bundle.json), schema and version of the kokoro-tvm that wrote it, recipe, synthetic, gates
        (run, or the reason why not), "made of", "made with", files (name to sha256), libraries (name to
        manifest).

    Raises:
        BundleError: a file is missing, damaged or contradicts the manifest; the provenance is missing or
            about other files.
    """
    bundle = read_bundle(path)
    with OpenFiles(bundle.files()) as files:
        verify_files(files, usable_cores())
        provenance = verify_provenance(bundle)
        libraries = {
            library.file.path.name: check_library(bundle, component, library, files[library.file])
            for component in bundle.components.values()
            for library in component.libraries
        }
    return {
        "sha256": bundle.sha256,
        "schema": bundle.schema,
        "version": bundle.version,
        "recipe": provenance.recipe,
        "synthetic": bundle.synthetic,
        "gates": f"not run: {bundle.not_run}" if bundle.not_run else "run",
        "made of": provenance.dependencies,
        "made with": provenance.tools,
        "files": provenance.subjects,
        "libraries": libraries,
    }


def check_library(bundle: Bundle, component: Component, library: Library, file: OpenFile) -> dict[str, Any]:
    """Return the manifest of a bundle's library after comparing it with the bundle's; nothing is loaded.

    Raises:
        BundleError: the file has another digest, is no library of kokoro-tvm, or was compiled for something
            else.
    """
    path = library.file.path
    manifest = _read_manifest(path, file.content())
    expected = {"component": component.name, "bucket": library.bucket}
    expected |= {"length": bundle.length, "precision": bundle.precision}
    for key, value in expected.items():
        if manifest.get(key) != value:
            raise BundleError(
                f"{path} was compiled with {key} {manifest.get(key)!r}, but bundle.json says {value!r}. "
                "Build the bundle again."
            )
    return manifest


def _read_manifest(path: Path, content: bytes) -> dict[str, Any]:
    try:
        return read_manifest(content)
    except ValueError as error:
        raise BundleError(
            f"{path} is not a library that kokoro-tvm compiled ({error}). Build or copy it again."
        ) from error
