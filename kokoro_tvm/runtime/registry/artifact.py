"""A bundle as an OCI artifact: a manifest whose layers are the bundle's files.

https://github.com/opencontainers/image-spec/blob/v1.1.0/manifest.md, with guidance for artifacts at its end;
file names are annotations, as ORAS writes them. Equal files of two bundles are one layer.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime.bundle.node import ManifestNode

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
ARTIFACT_TYPE = "application/vnd.kokoro-tvm.bundle.v1"
EMPTY = b"{}"
"""The configuration blob; a bundle needs none."""
MAX_MANIFEST_BYTES = 4 << 20
"""The limit of registries."""
_TITLE = "org.opencontainers.image.title"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_VERSION = "org.opencontainers.image.version"


@dataclass(frozen=True)
class OciLayer:
    """A file of a bundle.

    Attributes:
        name: relative to the bundle.
        size: in bytes.
        sha256: in hexadecimal.
    """

    name: str
    size: int
    sha256: str


def build_manifest(layers: Iterable[OciLayer], recipe: str, version: str) -> bytes:
    """Return a manifest; equal layers give equal bytes."""
    content = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "artifactType": ARTIFACT_TYPE,
        "config": _descriptor("application/vnd.oci.empty.v1+json", len(EMPTY), sha256_of(EMPTY)),
        "layers": [
            _descriptor("application/octet-stream", layer.size, layer.sha256, {_TITLE: layer.name})
            for layer in sorted(layers, key=lambda layer: layer.name)
        ],
        "annotations": {_TITLE: recipe, _VERSION: version},
    }
    return json.dumps(content, indent=1, ensure_ascii=False).encode()


def read_layers(content: bytes, place: str) -> dict[str, OciLayer]:
    """Return the layers of a manifest by name.

    Raises:
        BundleError: the content is no manifest, or not one of a bundle.
    """
    try:
        raw = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{place} holds no manifest ({error}). Name another place.") from error
    node = ManifestNode(raw, place)
    media_type = str(raw.get("artifactType") or raw.get("mediaType"))
    if media_type != ARTIFACT_TYPE:
        raise BundleError(f"{place} holds {media_type}, not a bundle of kokoro-tvm. Name another place.")
    layers = (_read_layer(child) for child in node.children("layers"))
    return {layer.name: layer for layer in layers}


def sha256_of(content: bytes) -> str:
    """Return a SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def _read_layer(node: ManifestNode) -> OciLayer:
    size, digest = node.get("size", int), node.get("digest", str)
    if size < 0 or not _DIGEST.fullmatch(digest):  # it becomes the name of a file
        raise BundleError(f"{node.place} has {size} bytes and the digest {digest!r}. Push the bundle again.")
    return OciLayer(node.child("annotations").get(_TITLE, str), size, digest.removeprefix("sha256:"))


def _descriptor(
    media_type: str, size: int, sha256: str, annotations: Mapping[str, str] | None = None
) -> dict[str, Any]:
    descriptor: dict[str, Any] = {"mediaType": media_type, "digest": f"sha256:{sha256}", "size": size}
    return descriptor | ({"annotations": dict(annotations)} if annotations else {})
