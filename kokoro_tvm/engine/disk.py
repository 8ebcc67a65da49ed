"""Advice for a file that cannot be written."""

from __future__ import annotations

import errno

__all__ = ["advice"]

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM}


def advice(error: OSError) -> str:
    """What went wrong when something was written, and what to do about it."""
    if error.errno in _FULL:
        return "the disk is full; make room (`kokoro-tvm gc` drops what no recipe uses) and run it again"
    if error.errno in _FORBIDDEN:
        return "no permission; make it writable for you, or build as the user who owns it"
    if error.errno == errno.EROFS:
        return "the file system is read-only; mount it for writing, or build in another folder"
    return f"{error.strerror or error}; see to it and run it again"
