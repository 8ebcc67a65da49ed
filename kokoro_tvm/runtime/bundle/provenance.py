"""The provenance of a bundle, `provenance.json`: its reader, and the comparison with the bundle's files."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime.bundle.manifest import Bundle
from kokoro_tvm.runtime.bundle.node import ManifestNode

FILE = "provenance.json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:kokoro-tvm:bundle:v1"
BUILDER = "urn:kokoro-tvm:build"
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Provenance:
    """A SLSA provenance statement.

    Attributes:
        subjects: file of the bundle -> sha256.
        recipe: the part of the recipe that the files depend on.
        dependencies: name -> sha256 or package URL of an input.
        tools: name -> version of a compiler or library.
        builder: id of the program that ran the build.
    """

    subjects: dict[str, str]
    recipe: dict[str, Any]
    dependencies: dict[str, str]
    tools: dict[str, str]
    builder: str


def read_provenance(path: Path) -> Provenance:
    """Read a statement; raises BundleError: no file, no JSON, another type, or a missing part."""
    try:
        content: Any = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise BundleError(
            f"{path} is missing, so it is not known where the bundle comes from. Build it again."
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise BundleError(f"{path} is no readable JSON ({error}). Build or copy the bundle again.") from error
    node = ManifestNode(content, str(path))
    _require(node, "_type", STATEMENT_TYPE)
    _require(node, "predicateType", PREDICATE_TYPE)
    predicate = node.child("predicate")
    definition, run = predicate.child("buildDefinition"), predicate.child("runDetails")
    _require(definition, "buildType", BUILD_TYPE)
    tools = definition.child("internalParameters")
    return Provenance(
        subjects={s.get("name", str): _digest(s) for s in node.children("subject")},
        recipe=definition.child("externalParameters").get("recipe", dict),
        dependencies={
            d.get("name", str): _digest(d) if d.has("digest") else d.get("uri", str)
            for d in definition.children("resolvedDependencies")
        },
        tools={name: tools.get(name, str) for name in tools.names()},
        builder=run.child("builder").get("id", str),
    )


def verify_provenance(bundle: Bundle) -> Provenance:
    """Return the provenance of a bundle after comparing its digests with the manifest; no file is read.

    Raises:
        BundleError: it is missing, invalid, or about other files.
    """
    path = bundle.root / FILE
    provenance = read_provenance(path)
    expected = {"bundle.json": bundle.sha256} | {
        f.path.relative_to(bundle.root).as_posix(): f.sha256 for f in bundle.files()
    }
    subjects = provenance.subjects
    names = sorted(n for n in subjects.keys() | expected if subjects.get(n) != expected.get(n))
    if names:
        raise BundleError(
            f"{path} is about other files than the bundle has: {', '.join(names)}. "
            "Build or copy the bundle again."
        )
    return provenance


def _require(node: ManifestNode, key: str, expected: str) -> None:
    value = node.get(key, str)
    if value != expected:
        raise BundleError(f"{node.place}: '{key}' is {value!r}, not {expected!r}. Build the bundle again.")


def _digest(node: ManifestNode) -> str:
    sha256 = node.child("digest").get("sha256", str)
    if not _SHA256.fullmatch(sha256):
        raise BundleError(f"{node.place}: {sha256!r} is no SHA-256. Build the bundle again.")
    return sha256
