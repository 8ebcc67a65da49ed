"""Pushes a bundle to a registry, or into an OCI image layout. Files that are there are not sent.

Registry: https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md#push.
"""

from __future__ import annotations

import errno
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote

from kokoro_tvm.common.errors import BundleError, InputError
from kokoro_tvm.common.remote import READ_ONLY, has_protocol, missing_library, open_folder, whole_file
from kokoro_tvm.publish.attestation import build_statements
from kokoro_tvm.publish.distribution import bundle_files, open_content, open_verified_bundle, size_of
from kokoro_tvm.runtime.registry.address import Layout, Repository
from kokoro_tvm.runtime.registry.artifact import (
    ARTIFACT_TYPE,
    EMPTY,
    MANIFEST_TYPE,
    OciLayer,
    build_manifest,
    sha256_of,
)
from kokoro_tvm.runtime.registry.sources import REFERENCE, read_index
from kokoro_tvm.runtime.registry.web import TransferError, Web, next_url

if TYPE_CHECKING:
    from securesystemslib.signer import Signer

_ATTEMPTS = 3


@dataclass(frozen=True)
class PushResult:
    """The result of a push.

    Attributes:
        place: The place, with the name of the bundle.
        digest: SHA-256 of the manifest.
        sent: Bytes that were sent.
        present: Bytes that were there before.
    """

    place: str
    digest: str
    sent: int
    present: int


def push(
    path: Path,
    place: Repository | Layout,
    signer: Signer | None = None,
    on_upload: Callable[[OciLayer], None] = print,
) -> PushResult:
    """Push a bundle with its provenance and bill of materials.

    Args:
        path: Folder of the bundle.
        place: Where to push it. In a layout without a name, it gets its recipe's name.
        signer: Signs provenance and bill of materials; None: nothing is signed.
        on_upload: Called with each layer before it is sent.

    Raises:
        BundleError: The bundle is damaged, or the place refuses it.
        InputError: The place cannot be written to.
    """
    bundle = open_verified_bundle(path)
    if isinstance(place, Layout) and not place.name:
        place = place.named(bundle.recipe)
    contents = {**bundle_files(bundle), **build_statements(bundle, signer)}
    digests = {file.path: file.sha256 for file in bundle.files()} | {
        bundle.root / "bundle.json": bundle.sha256
    }
    layers: dict[OciLayer, Path | bytes] = {}
    for name, content in contents.items():
        sha256 = sha256_of(content) if isinstance(content, bytes) else digests[content]
        layers[OciLayer(name, size_of(content), sha256)] = content
    manifest = build_manifest([*layers], bundle.recipe, bundle.version)
    empty = OciLayer("an empty configuration", len(EMPTY), sha256_of(EMPTY))
    target = _open_target(place)
    sent = present = 0
    try:
        for layer, content in {empty: EMPTY, **layers}.items():
            if target.has(layer):
                present += layer.size
                continue
            on_upload(layer)
            with open_content(content) as stream:
                target.put(layer, stream)
            sent += layer.size
        target.finish(manifest)
    except TransferError as error:
        raise BundleError(
            f"{place} does not take the bundle: {error}. Correct that, and push again; files that are "
            "there are not sent again."
        ) from error
    return PushResult(str(place), sha256_of(manifest), sent, present)


def _open_target(place: Repository | Layout) -> _Registry | _Folder:
    """Return the writer of a place. Raises InputError for a digest, and a place that cannot be written to."""
    if isinstance(place, Repository):
        if ":" in place.reference:
            raise InputError(f"{place} is a digest, which follows from a bundle. Push to a tag.")
        return _Registry(place)
    if has_protocol(place.place, READ_ONLY):
        raise InputError(
            f"{place} is a web server and cannot be written to. Push to a folder, and put that there."
        )
    if reason := missing_library(place.place):
        raise InputError(f"{place} cannot be reached: {reason}.")
    return _Folder(place)


class _Registry:
    """A repository of an OCI registry."""

    def __init__(self, place: Repository) -> None:
        self._place, self._web = place, Web()

    def has(self, layer: OciLayer) -> bool:
        """Return whether the repository has a layer. Raises TransferError if the registry fails."""
        try:
            self._web.open(f"{self._place.url}/blobs/sha256:{layer.sha256}", "HEAD").close()
        except TransferError as error:
            if error.status == 404:
                return False
            raise
        return True

    def put(self, layer: OciLayer, stream: BinaryIO) -> None:
        """Upload a layer, again after a temporary error. Raises TransferError after the last attempt."""
        for attempt in range(_ATTEMPTS):
            try:
                stream.seek(0)
                begin = f"{self._place.url}/blobs/uploads/"
                with self._web.open(begin, "POST", {"Content-Length": "0"}, b"") as answer:
                    url = next_url(begin, answer)
                url += f"{'&' if '?' in url else '?'}digest={quote(f'sha256:{layer.sha256}')}"
                headers = {"Content-Length": str(layer.size), "Content-Type": "application/octet-stream"}
                self._web.open(url, "PUT", headers, stream).close()
                return
            except TransferError as error:
                if not error.is_temporary or attempt == _ATTEMPTS - 1:
                    raise

    def finish(self, manifest: bytes) -> None:
        """Upload the manifest, which names the layers. Raises TransferError if the registry refuses it."""
        url = f"{self._place.url}/manifests/{self._place.reference}"
        self._web.open(url, "PUT", {"Content-Type": MANIFEST_TYPE}, manifest).close()


class _Folder:
    """An OCI image layout that fsspec can write. Of two pushes at the same time, one may be lost."""

    def __init__(self, layout: Layout) -> None:
        self._name = layout.name
        self._system, self._root = open_folder(layout.place)

    def has(self, layer: OciLayer) -> bool:
        """Return whether the layout has a layer of the right size.

        Raises TransferError if it cannot be read.
        """
        path = self._blob(layer.sha256)
        with _translate_errors():
            return bool(self._system.exists(path) and self._system.info(path)["size"] == layer.size)

    def put(self, layer: OciLayer, stream: BinaryIO) -> None:
        """Write a layer as a blob. Raises TransferError if that fails."""
        self._write(self._blob(layer.sha256), stream)

    def finish(self, manifest: bytes) -> None:
        """Write the manifest, and replace the entry of this name in index.json.

        Raises TransferError if that fails.
        """
        sha256 = sha256_of(manifest)
        self._write(self._blob(sha256), io.BytesIO(manifest))
        entry = {
            "mediaType": MANIFEST_TYPE,
            "digest": f"sha256:{sha256}",
            "size": len(manifest),
            "artifactType": ARTIFACT_TYPE,
            "annotations": {REFERENCE: self._name},
        }
        others = [
            e for e in self._list_manifests() if (e.get("annotations") or {}).get(REFERENCE) != self._name
        ]
        index = {"schemaVersion": 2, "manifests": [*others, entry]}
        version = json.dumps({"imageLayoutVersion": "1.0.0"})
        self._write(f"{self._root}/oci-layout", io.BytesIO(version.encode()))
        self._write(f"{self._root}/index.json", io.BytesIO(json.dumps(index, indent=1).encode()))

    def _list_manifests(self) -> list[dict[str, Any]]:
        """Return the manifests that index.json lists, none without a file.

        Raises BundleError if it is no index.
        """
        content = b""
        with _translate_errors(), suppress(FileNotFoundError):
            content = self._system.cat_file(f"{self._root}/index.json")
        if not content:
            return []
        read_index(content, self._root)  # raises BundleError if it is no index
        return list(json.loads(content)["manifests"])

    def _blob(self, sha256: str) -> str:
        return f"{self._root}/blobs/sha256/{sha256}"

    def _write(self, path: str, stream: BinaryIO) -> None:
        """Write a file whole or not at all. Raises TransferError if that fails."""
        with (
            _translate_errors(),
            whole_file(self._system, path) as partial,
            self._system.open(partial, "wb") as file,
        ):
            while chunk := stream.read(1 << 20):
                file.write(chunk)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise every error of the block as TransferError."""
    try:
        yield
    except Exception as error:  # libraries of protocols raise errors of their own
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise TransferError("the disk is full" if full else f"{type(error).__name__}: {error}") from error
