"""What compiles kernels for GPUs as C++: what it is for, and what it is given besides."""

from __future__ import annotations

import hashlib
from pathlib import Path

__all__ = ["PURPOSE", "headers_digest"]

PURPOSE = ("execute GPU kernels with",)
"""What a compiler of kernels is for, in messages: see `version_of`."""


def headers_digest() -> str:
    """SHA-256 of the headers that kernels are compiled with."""
    found = sorted(Path(__file__).parent.glob("*.h"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in found)).hexdigest()
