"""A path for bytes that a dynamic loader has to be given by a path."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["private_copy"]

_PROC_FD = Path("/proc/self/fd")
_serial = itertools.count(1)


@contextmanager
def private_copy(content: bytes, name: str) -> Iterator[str]:
    """A path that leads to `content` and that nobody else can change, as long as the block lasts.

    Linux: a sealed file in memory, whose content nobody can change, this process included. Elsewhere: a file
    in a new folder that only this user can enter. Windows cannot delete a loaded library; there the copy
    stays in the folder for temporary files.
    """
    if hasattr(os, "memfd_create") and _PROC_FD.is_dir():
        import fcntl

        descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            with open(descriptor, "wb", closefd=False) as stream:
                stream.write(content)
            seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
            yield _unused_name(descriptor)
        finally:
            os.close(descriptor)
    else:
        with TemporaryDirectory(prefix="kokoro-tvm-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / name
            path.write_bytes(content)
            yield str(path)


def _unused_name(descriptor: int) -> str:
    """A path of an open file that no library was loaded by before.

    The dynamic loader compares names first: it would give the library that an earlier file with the same
    descriptor held. So the path has a "/" for each 0 of a serial number and a "/." for each 1.
    """
    digits = f"{next(_serial):b}".replace("0", "/").replace("1", "/.")
    return f"{_PROC_FD}{digits}/{descriptor}"
