"""Places that bundles are pulled from: a registry, or a folder with an OCI image layout, near or far.

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
from kokoro_tvm.runtime.registry.artifact import LARGEST_MANIFEST, MANIFEST_TYPE, sha256_of
from kokoro_tvm.runtime.registry.web import TransferError, Web, failed

__all__ = ["REFERENCE", "Source", "bundles_in", "open_source"]

REFERENCE = "org.opencontainers.image.ref.name"
"""The annotation of a layout's index with the name of a bundle."""

Opener = Callable[[str, int], tuple[BinaryIO, int]]
"""Opens a file from an offset on; the second is where it begins: 0 where it cannot begin elsewhere."""


class Source(Protocol):
    """A place that holds a bundle."""

    @property
    def whom(self) -> str:
        """Whom somebody trusts who takes what is there: `the registry HOST over TLS`."""

    def manifest(self) -> bytes:
        """The bundle's manifest. Raises TransferError, and BundleError where there is none."""

    def open(self, sha256: str, offset: int) -> tuple[BinaryIO, int]:
        """A file by its digest, as `Opener` does. Raises TransferError; so may reading it, see `read`."""


def open_source(place: Repository | Layout, web: Web) -> Source:
    """The place at an address. Raises InputError for a protocol that nothing installed speaks."""
    if isinstance(place, Repository):
        return _Registry(place, web)
    if place.place.startswith(("http://", "https://")):
        host = urlsplit(place.place).netloc
        return _Layout(place, _whom("web server", host), lambda path, offset: _web(web, path, offset))
    if "://" not in place.place:
        return _Layout(place, f"whoever can write to {place.place}", _file)
    return _Layout(place, f"whoever can write to {place.place}", _remote(place.place))


def read(stream: BinaryIO, size: int) -> bytes:
    """Some bytes of a file that a source has opened; none at its end. Raises TransferError."""
    try:
        return stream.read(size)
    except (OSError, http.client.HTTPException) as error:
        raise failed(error) from error


def bundles_in(index: bytes, place: str) -> dict[str, str]:
    """Name of a bundle -> digest of its manifest, in a layout's index.json. Raises BundleError."""
    try:
        node = ManifestNode(json.loads(index), f"{place}/index.json")
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{place}/index.json is no readable JSON ({error}). Push it again.") from error
    found = {}
    for entry in node.children("manifests"):
        name = entry.child("annotations").get(REFERENCE, str) if entry.has("annotations") else ""
        found[name] = entry.get("digest", str).removeprefix("sha256:")
    return found


class _Registry:
    def __init__(self, place: Repository, web: Web) -> None:
        self._place, self._web = place, web
        self.whom = _whom("registry", place.host)

    def manifest(self) -> bytes:
        url = f"{self._place.url}/manifests/{self._place.reference}"
        with self._web.open(url, headers={"Accept": MANIFEST_TYPE}) as answer:
            content = read(answer, LARGEST_MANIFEST + 1)
        pinned = self._place.reference.partition(":")[2]
        if pinned and sha256_of(content) != pinned:
            raise BundleError(
                f"{self._place} is answered by a manifest with sha256 {sha256_of(content)}: "
                f"{self._place.host} is wrong, or was changed. Nothing of it was taken."
            )
        return content

    def open(self, sha256: str, offset: int) -> tuple[BinaryIO, int]:
        return _web(self._web, f"{self._place.url}/blobs/sha256:{sha256}", offset)


class _Layout:
    def __init__(self, layout: Layout, whom: str, opener: Opener) -> None:
        self._layout, self._opener, self.whom = layout, opener, whom

    def manifest(self) -> bytes:
        place, name = self._layout.place, self._layout.name
        found = bundles_in(self._whole(f"{place}/index.json"), place)
        if not name and len(found) == 1:
            name = next(iter(found))
        if name not in found:
            names = ", ".join(sorted(found)) or "none"
            what = f"no bundle {name}" if name else "several bundles"
            raise InputError(f"{place} has {what}. It has: {names}. Write {place}#NAME.")
        content = self._whole(self._blob(found[name]))
        if sha256_of(content) != found[name]:
            raise BundleError(
                f"{self._blob(found[name])} does not hold what its name says. Push the bundle again."
            )
        return content

    def open(self, sha256: str, offset: int) -> tuple[BinaryIO, int]:
        return self._opener(self._blob(sha256), offset)

    def _blob(self, sha256: str) -> str:
        return f"{self._layout.place}/blobs/sha256/{sha256}"

    def _whole(self, path: str) -> bytes:
        stream, _ = self._opener(path, 0)
        with stream:
            return read(stream, LARGEST_MANIFEST + 1)


def _whom(what: str, host: str) -> str:
    return f"the {what} {host}" + ("" if is_loopback(host) else " over TLS")


def _web(web: Web, url: str, offset: int) -> tuple[BinaryIO, int]:
    answer = web.open(url, headers={"Range": f"bytes={offset}-"} if offset else {})
    begins = offset if answer.status == http.client.PARTIAL_CONTENT else 0
    wanted = f"bytes {offset}-"
    if begins and not (answer.headers.get("Content-Range") or "").startswith(wanted):
        answer.close()
        raise TransferError("it sends another part of the file than was requested")
    return answer, begins


def _file(path: str, offset: int) -> tuple[BinaryIO, int]:
    try:
        stream = Path(path).open("rb")  # noqa: SIM115  (whoever called closes it)
    except OSError as error:
        raise failed(error) from error
    stream.seek(offset)
    return stream, offset


def _remote(url: str) -> Opener:
    """Opens files by fsspec."""
    from kokoro_tvm.common.packages import is_installed
    from kokoro_tvm.common.remote import open_folder, unreachable

    reason = (
        unreachable(url) if is_installed("fsspec") else "it takes fsspec: pip install 'kokoro-tvm[cache]'"
    )
    if reason:
        raise InputError(f"{url} cannot be reached: {reason}.")
    system, root = open_folder(url)

    def opened(path: str, offset: int) -> tuple[BinaryIO, int]:
        try:
            stream: BinaryIO = system.open(root + path.removeprefix(url), "rb")
            stream.seek(offset)
        except Exception as error:  # whatever a library for some protocol raises
            raise TransferError(f"{type(error).__name__}: {error}") from error
        return stream, offset

    return opened
