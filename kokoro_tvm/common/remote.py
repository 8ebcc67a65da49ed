"""Folders that fsspec opens: on a disk, on a web server, in a bucket."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_PORTION = 1 << 20  # bytes
READ_ONLY = ("http", "https")
"""Protocols that cannot be written to."""


class TooLargeError(Exception):
    """A file has more bytes than it may have."""


def has_protocol(url: str, protocols: tuple[str, ...]) -> bool:
    """Return whether any part of a URL (fsspec chains them with ::) has one of these protocols."""
    return any(part.lower().startswith(tuple(f"{p}:" for p in protocols)) for part in url.split("::"))


def missing_library(url: str) -> str | None:
    """Return why no installed library can read a URL, or None if one can."""
    from fsspec import get_filesystem_class
    from fsspec.utils import get_protocol

    try:
        get_filesystem_class(get_protocol(url))
    except (ValueError, ImportError) as error:
        return str(error)
    return None


def open_folder(url: str) -> tuple[AbstractFileSystem, str]:
    """Return the file system of a folder, and the folder's path in it."""
    from fsspec.core import url_to_fs

    # Cached listings would hide what others have written since.
    system, root = url_to_fs(url, use_listings_cache=False, skip_instance_cache=True)
    return system, str(root)


def read_portions(system: AbstractFileSystem, path: str, limit: int) -> Iterator[bytes]:
    """Yield the content of a file; raise TooLargeError after more than `limit` bytes.

    A web server's answer is read as it arrives: the length that it announces may be false.
    """
    size = 0
    # With a size, fsspec does not ask for one, which would report every failure as a missing file.
    streaming = {"block_size": 0, "size": limit + 1} if "http" in system.protocol else {}
    with system.open(path, "rb", **streaming) as stream:
        while portion := stream.read(min(_PORTION, limit + 1 - size)):
            size += len(portion)
            if size > limit:
                raise TooLargeError(f"{path} has more than {limit} bytes")
            yield portion


@contextmanager
def whole_file(system: AbstractFileSystem, path: str) -> Iterator[str]:
    """Yield a temporary name for a file, which is renamed to `path` if the block succeeds."""
    folder, _, name = path.rpartition("/")
    partial = f"{folder}/.{name}.{uuid4().hex}"
    system.makedirs(folder, exist_ok=True)
    try:
        yield partial
        system.mv(partial, path)
    except BaseException:
        with contextlib.suppress(Exception):  # the first error says more
            system.rm_file(partial)
        raise
