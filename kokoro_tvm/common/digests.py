"""SHA-256 of files."""

from __future__ import annotations

import hashlib
from pathlib import Path

_CHUNK = 1 << 20  # bytes


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
