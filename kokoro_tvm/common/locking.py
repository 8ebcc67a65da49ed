"""A lock on a file, of whichever process has it; the system releases it when that process ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

__all__ = ["LockedError", "open_locked"]


class LockedError(Exception):
    """Another process has the lock."""


def open_locked(path: Path) -> BinaryIO:
    """Open a file to append to, create it if need be, and lock it until it is closed.

    No link is followed: whoever can write to the folder could let it lead to a file of this user. Raises
    LockedError, and OSError.
    """
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        stream = os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600), "ab+")
        try:
            _lock(stream.fileno())
            if _is_at(path, stream):
                return stream
        except BaseException:
            stream.close()
            raise
        stream.close()  # whoever had the lock has removed the file: this one has no name any more


def _is_at(path: Path, stream: BinaryIO) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.lstat())
    except FileNotFoundError:
        return False


def _lock_on_windows(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        # A byte far behind what is written: Windows refuses others to read and write what is locked.
        os.lseek(descriptor, 1 << 40, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise LockedError from error
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)


def _lock_elsewhere(descriptor: int) -> None:
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LockedError from error


_lock: Callable[[int], None] = _lock_on_windows if sys.platform == "win32" else _lock_elsewhere
