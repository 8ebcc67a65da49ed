"""Checks a file against its pin."""

from __future__ import annotations

import hashlib
from pathlib import Path

from kokoro_tvm.errors import BuildError

__all__ = ["check_sha256", "sha256_file"]


def sha256_file(path: Path) -> str:
    """SHA-256 of a file's bytes, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_sha256(path: Path, expected: str, what: str) -> None:
    """Raises BuildError unless the file's SHA-256 is the expected one; `what` names the file for people."""
    got = sha256_file(path)
    if got != expected:
        raise BuildError(
            f"{what} is not the pinned file: expected sha256 {expected}, got {got} "
            f"({path.stat().st_size:,} bytes); it is damaged, cut short or another version"
        )
