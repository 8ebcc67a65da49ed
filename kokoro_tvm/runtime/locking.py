"""Files locked by one process; the system releases a lock when its process ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from kokoro_tvm.common.errors import InputError, KokoroTvmError


@contextmanager
def hold_lock(path: Path, target: Path, error: type[KokoroTvmError] = InputError) -> Iterator[None]:
    """Lock a file while the block runs, and remove it then; the arguments are those of `open_locked`."""
    with open_locked(path, target, error) as stream:
        try:
            yield
        finally:
            if sys.platform == "win32":  # which removes no file that is open
                stream.close()
            path.unlink(missing_ok=True)


def open_locked(path: Path, target: Path, error: type[KokoroTvmError] = InputError) -> BinaryIO:
    """Open a file to append to, create it if need be, and lock it until it is closed.

    Args:
        path: The file.
        target: What the lock protects, for the message.
        error: Class of the errors.

    Raises:
        KokoroTvmError: Another process holds the lock, or the file cannot be opened.
    """
    while True:
        # O_NOFOLLOW: whoever can write to the folder could link the name to a file of this user.
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        try:
            stream = os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600), "ab+")
        except OSError as fault:
            raise error(f"{path} cannot be written: {fault.strerror or fault}.") from fault
        try:
            if not _lock(stream.fileno()):
                raise error(
                    f"Another process is writing to {target}. Wait until it has ended, or name another place."
                )
            if _is_at(path, stream):
                return stream
        except BaseException:
            stream.close()
            raise
        stream.close()  # the process that held the lock has removed the file: this one has no name any more


def _is_at(path: Path, stream: BinaryIO) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.lstat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":

    def _lock(descriptor: int) -> bool:
        import msvcrt

        # A byte far behind what is written: Windows refuses others to read and write what is locked.
        os.lseek(descriptor, 1 << 40, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return True

else:

    def _lock(descriptor: int) -> bool:
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
