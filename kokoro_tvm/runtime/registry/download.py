"""One file from a source: taken up where it broke off, and compared with its digest before it has a name."""

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

__all__ = ["download", "writing"]

_CHUNK = 1 << 20  # bytes
_TRIES = 4  # that bring nothing, one after the other
_PAUSE = 0.5  # seconds after the first of them; twice as long after each other one


def download(source: Source, layer: OciLayer, path: Path, place: str, arrived: Callable[[int], None]) -> None:
    """Writes a layer to `path`, after what is there of it already; complete, it has the layer's digest.

    arrived: called with bytes as they come. Raises BundleError; what came stays for the next time, unless it
    is not what it should be.
    """
    digest = hashlib.sha256()
    have = path.stat().st_size if path.exists() else 0
    with writing(path), path.open("r+b" if have else "w+b") as file:
        while have and (chunk := file.read(_CHUNK)):
            digest.update(chunk)
        tries = 0
        while have < layer.size:
            before = have
            try:
                stream, begins = source.open(layer.sha256, have)
                with stream:
                    if begins != have:  # it sends the whole file, whatever part was requested
                        have, digest = 0, hashlib.sha256()
                        file.seek(0)
                        file.truncate()
                    while have <= layer.size and (chunk := read(stream, _CHUNK)):
                        file.write(chunk)
                        digest.update(chunk)
                        have += len(chunk)
                        arrived(len(chunk))
                if have < layer.size:
                    raise TransferError(f"it ended after {have} of {layer.size} bytes", passing=True)
            except TransferError as error:
                tries = 0 if have > before else tries + 1
                if not error.passing or tries == _TRIES:
                    again = "Run" if error.passing else "See to that, and run"
                    raise BundleError(
                        f"{layer.name} cannot be pulled from {place}: {error}. {again} the same again, which "
                        "goes on where it ended."
                    ) from error
                time.sleep(_PAUSE * 2**tries)
        file.flush()
        os.fsync(file.fileno())
    if have != layer.size or digest.hexdigest() != layer.sha256:
        path.unlink()
        raise BundleError(
            f"{layer.name} from {place} has sha256 {digest.hexdigest()} and {have} bytes, but the manifest "
            f"says {layer.sha256} and {layer.size}: it was damaged or changed. Nothing of it was kept. Run "
            "the same again; if it stays so, name another place."
        )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What is written within the block: an OSError becomes a BundleError with the place and what to do."""
    try:
        yield
    except OSError as error:
        where = error.filename2 or error.filename or path
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what = "the disk is full" if full else error.strerror or error
        do = "Make room" if full else "See to it"
        raise BundleError(
            f"{where} cannot be written: {what}. {do}, or name another folder with --output, and run "
            "the same again."
        ) from error
