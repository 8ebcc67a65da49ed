"""Download of one file: resumed after a failure, compared with its digest at the end."""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime.registry.artifact import OciLayer
from kokoro_tvm.runtime.registry.sources import Source, read
from kokoro_tvm.runtime.registry.web import TransferError

_CHUNK = 1 << 20  # bytes
_MAX_FAILURES = 4  # in a row that transfer nothing
_PAUSE_S = 0.5  # after the first of them; doubled after each further one


def download(source: Source, layer: OciLayer, path: Path, place: str, arrived: Callable[[int], None]) -> None:
    """Write a layer to `path`, after the part of it that is there already.

    Args:
        source: holds the layer.
        layer: to download.
        path: of the file; a partial one is kept after a failure.
        place: of the source, for messages.
        arrived: called with numbers of bytes as they arrive.

    Raises:
        BundleError: the source fails, or the file has another digest and is deleted.
    """
    digest = hashlib.sha256()
    size = path.stat().st_size if path.exists() else 0
    with report_write_errors(path), path.open("r+b" if size else "w+b") as file:
        while size and (chunk := file.read(_CHUNK)):
            digest.update(chunk)
        failures = 0
        while size < layer.size:
            before = size
            try:
                stream, begins = source.open(layer.sha256, size)
                with stream:
                    if begins != size:  # the server ignores ranges and sends the whole file
                        size, digest = 0, hashlib.sha256()
                        file.seek(0)
                        file.truncate()
                    while size <= layer.size and (chunk := read(stream, _CHUNK)):
                        file.write(chunk)
                        digest.update(chunk)
                        size += len(chunk)
                        arrived(len(chunk))
                if size < layer.size:
                    raise TransferError(f"it ended after {size} of {layer.size} bytes", is_temporary=True)
            except TransferError as error:
                failures = 0 if size > before else failures + 1
                if not error.is_temporary or failures == _MAX_FAILURES:
                    action = "Run" if error.is_temporary else "Fix that, and run"
                    raise BundleError(
                        f"{layer.name} cannot be pulled from {place}: {error}. {action} the same command "
                        "again, which resumes the download."
                    ) from error
                time.sleep(_PAUSE_S * 2**failures)
        file.flush()
        os.fsync(file.fileno())
    if size != layer.size or digest.hexdigest() != layer.sha256:
        path.unlink()
        raise BundleError(
            f"{layer.name} from {place} has sha256 {digest.hexdigest()} and {size} bytes, but the manifest "
            f"says {layer.sha256} and {layer.size}: it was damaged or changed. It was deleted. Run the same "
            "command again; if that fails, name another place."
        )


@contextmanager
def report_write_errors(path: Path) -> Iterator[None]:
    """Turn an OSError of the block into a BundleError that names the file."""
    try:
        yield
    except OSError as error:
        file = error.filename2 or error.filename or path
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "the disk is full" if full else error.strerror or error
        action = "Free space" if full else "Fix that"
        raise BundleError(
            f"{file} cannot be written: {reason}. {action}, or name another folder with --output, and run "
            "the same command again."
        ) from error
