"""Checks a file against its pin."""

from __future__ import annotations

from pathlib import Path

from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.common.errors import BuildError

__all__ = ["check_sha256"]


def check_sha256(path: Path, expected: str, what: str) -> None:
    """Raises BuildError unless the file's SHA-256 is the expected one; `what` names the file for people."""
    got = file_sha256(path)
    if got != expected:
        raise BuildError(
            f"{what} is not the pinned file: expected sha256 {expected}, got {got} "
            f"({path.stat().st_size:,} bytes); it is damaged, cut short or another version"
        )
