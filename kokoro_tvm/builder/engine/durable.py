"""Atomic and durable writes: a crash leaves the old file or the new one."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kokoro_tvm.common.errors import BuildError

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM}
NO_ROOM = {*_FULL, *_FORBIDDEN, errno.EROFS}
"""Error numbers of a folder that cannot be written to."""

_NO_LINKS = {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


def advice(error: OSError) -> str:
    """Explain why a write failed, and what to do about it."""
    if error.errno in _FULL:
        return "the disk is full; make room (`kokoro-tvm gc` drops what no recipe uses) and run it again"
    if error.errno in _FORBIDDEN:
        return "no permission; make it writable for you, or build as the user who owns it"
    if error.errno == errno.EROFS:
        return "the file system is read-only; mount it for writing, or build in another folder"
    return f"{error.strerror or error}; see to it and run it again"


@contextmanager
def translate_write_errors(path: Path) -> Iterator[None]:
    """Turn an OSError of a write into a BuildError that names the path and the remedy."""
    try:
        yield
    except OSError as error:
        where = error.filename2 or error.filename or path
        raise BuildError(f"{os.fsdecode(where)} cannot be written: {advice(error)}.") from error


def make_folder(path: Path) -> None:
    """Create a folder and its parents. Raises BuildError if that fails."""
    with translate_write_errors(path):
        path.mkdir(parents=True, exist_ok=True)


def write(path: Path, content: bytes) -> None:
    """Write a file atomically, and wait until it is on the disk; create its folder.

    Raises BuildError if that fails.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    with translate_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with partial.open("wb") as stream:
                stream.write(content)
                stream.flush()
                _flush(stream.fileno())
            partial.replace(path)
        except BaseException:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def sync(path: Path) -> None:
    """Wait until a file's content is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        _flush(handle)
    finally:
        os.close(handle)


def sync_folder(path: Path) -> None:
    """Wait until a folder's entries are on the disk, if its file system supports that."""
    handle = os.open(path, os.O_RDONLY)
    try:
        _flush(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)


def _flush(handle: int) -> None:
    """Write a file's buffers to the disk, on macOS past the drive's own memory."""
    if sys.platform == "darwin":  # where fsync may leave data in the drive's own memory
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            return
    os.fsync(handle)


def link(source: Path, path: Path) -> None:
    """Create `path` as a hard link to `source`, or as a copy if that is not possible."""
    try:
        os.link(source, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copyfile(source, path)
        shutil.copymode(source, path)
        sync(path)
