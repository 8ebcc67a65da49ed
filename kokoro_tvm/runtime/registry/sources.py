"""Sources of bundles: a registry, or an OCI image layout in a folder, on a web server or in a bucket.

Registry: https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md#pull; layout:
https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Protocol
from urllib.parse import urlsplit

from kokoro_tvm.common.errors import BundleError, InputError
from kokoro_tvm.runtime.bundle.node import ManifestNode
from kokoro_tvm.runtime.registry.address import Layout, Repository, is_loopback
from kokoro_tvm.runtime.registry.artifact import MANIFEST_TYPE, MAX_MANIFEST_BYTES, sha256_of
from kokoro_tvm.runtime.registry.web import TransferError, Web, transfer_error

REFERENCE = "org.opencontainers.image.ref.name"
"""The annotation of a layout's index that names a bundle."""

Opener = Callable[[str, int], tuple[BinaryIO, int]]
"""Opens a file at an offset; returns a stream and its offset, 0 if the server ignores ranges."""


class Source(Protocol):
    """A place that holds a bundle, and how its files are read."""

    @property
    def authority(self) -> str:
        """Who controls the place, such as `the registry HOST over TLS`."""

    def manifest(self) -> bytes:
        """Return the bundle's OCI manifest; raises TransferError, or BundleError if it is damaged."""

    def open(self, sha256: str, offset: int) -> tuple[BinaryIO, int]:
        """Open a file by its digest, as an `Opener`; raises TransferError."""


def open_source(place: Repository | Layout, web: Web) -> Source:
    """Open the source at an address; raises InputError if its protocol needs a missing package."""
    if isinstance(place, Repository):
        return _Registry(place, web)
    if place.place.startswith(("http://", "https://")):
        host = urlsplit(place.place).netloc
        return _Layout(place, _authority("web server", host), lambda path, offset: _web(web, path, offset))
    if "://" not in place.place:
        return _Layout(place, f"anyone who can write to {place.place}", _file)
    return _Layout(place, f"anyone who can write to {place.place}", _remote(place.place))


def read(stream: BinaryIO, size: int) -> bytes:
    """Read at most `size` bytes from a stream of a source; raises TransferError."""
    try:
        return stream.read(size)
    except (OSError, http.client.HTTPException) as error:
        raise transfer_error(error) from error


def read_index(index: bytes, place: str) -> dict[str, str]:
    """Return name of bundle -> digest of its manifest from a layout's index.json; raises BundleError."""
    try:
        node = ManifestNode(json.loads(index), f"{place}/index.json")
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{place}/index.json is no readable JSON ({error}). Push it again.") from error
    digests = {}
    for entry in node.children("manifests"):
        name = entry.child("annotations").get(REFERENCE, str) if entry.has("annotations") else ""
        digests[name] = entry.get("digest", str).removeprefix("sha256:")
    return digests


class _Registry:
    def __init__(self, place: Repository, web: Web) -> None:
        self._place, self._web = place, web
        self.authority = _authority("registry", place.host)

    def manifest(self) -> bytes:
        url = f"{self._place.url}/manifests/{self._place.reference}"
        with self._web.open(url, headers={"Accept": MANIFEST_TYPE}) as answer:
            content = read(answer, MAX_MANIFEST_BYTES + 1)
        pinned = self._place.reference.partition(":")[2]
        if pinned and sha256_of(content) != pinned:
            raise BundleError(
                f"{self._place} returned a manifest with sha256 {sha256_of(content)}: {self._place.host} is "
                "wrong, or was changed. Nothing was downloaded."
            )
        return content

    def open(self, sha256: str, offset: int) -> tuple[BinaryIO, int]:
        return _web(self._web, f"{self._place.url}/blobs/sha256:{sha256}", offset)


class _Layout:
    def __init__(self, layout: Layout, authority: str, opener: Opener) -> None:
        self._layout, self._opener, self.authority = layout, opener, authority

    def manifest(self) -> bytes:
        place, name = self._layout.place, self._layout.name
        digests = read_index(self._whole(f"{place}/index.json"), place)
        if not name and len(digests) == 1:
            name = next(iter(digests))
        if name not in digests:
            names = ", ".join(sorted(digests)) or "none"
            contents = f"no bundle {name}" if name else "several bundles"
            raise InputError(f"{place} has {contents}. It has: {names}. Write {place}#NAME.")
        content = self._whole(self._blob(digests[name]))
        if sha256_of(content) != digests[name]:
            raise BundleError(
                f"{self._blob(digests[name])} has another digest than its name. Push the bundle again."
            )
        return content

    def open(self, sha256: str, offset: int) -> tuple[BinaryIO, int]:
        return self._opener(self._blob(sha256), offset)

    def _blob(self, sha256: str) -> str:
        return f"{self._layout.place}/blobs/sha256/{sha256}"

    def _whole(self, path: str) -> bytes:
        stream, _ = self._opener(path, 0)
        with stream:
            return read(stream, MAX_MANIFEST_BYTES + 1)


def _authority(kind: str, host: str) -> str:
    return f"the {kind} {host}" + ("" if is_loopback(host) else " over TLS")


def _web(web: Web, url: str, offset: int) -> tuple[BinaryIO, int]:
    answer = web.open(url, headers={"Range": f"bytes={offset}-"} if offset else {})
    begins = offset if answer.status == http.client.PARTIAL_CONTENT else 0
    content_range = answer.headers.get("Content-Range") or ""
    if begins and not content_range.startswith(f"bytes {offset}-"):
        answer.close()
        raise TransferError("it sends another range than the requested one")
    return answer, begins


def _file(path: str, offset: int) -> tuple[BinaryIO, int]:
    try:
        stream = Path(path).open("rb")  # noqa: SIM115  (the caller closes it)
    except OSError as error:
        raise transfer_error(error) from error
    stream.seek(offset)
    return stream, offset


def _remote(url: str) -> Opener:
    """Return an opener of files by fsspec; raises InputError."""
    from kokoro_tvm.common.packages import is_installed
    from kokoro_tvm.common.remote import missing_library, open_folder

    reason = (
        missing_library(url) if is_installed("fsspec") else "it needs fsspec: pip install 'kokoro-tvm[cache]'"
    )
    if reason:
        raise InputError(f"{url} cannot be reached: {reason}.")
    system, root = open_folder(url)

    def open_file(path: str, offset: int) -> tuple[BinaryIO, int]:
        try:
            stream: BinaryIO = system.open(root + path.removeprefix(url), "rb")
            stream.seek(offset)
        except Exception as error:  # every protocol's library raises its own
            raise TransferError(f"{type(error).__name__}: {error}") from error
        return stream, offset

    return open_file
