"""Check of a file against its digest."""

from __future__ import annotations

from pathlib import Path

from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.common.errors import BuildError


def check_sha256(path: Path, expected: str, what: str) -> None:
    """Raise BuildError unless a file has the expected SHA-256; `what` names the file for people."""
    actual = file_sha256(path)
    if actual != expected:
        raise BuildError(
            f"{what} is not the pinned file: expected sha256 {expected}, got {actual} "
            f"({path.stat().st_size:,} bytes); it is damaged, cut short or another version"
        )
