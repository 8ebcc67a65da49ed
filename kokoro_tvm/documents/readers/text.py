"""Plain text: as it is, one chapter."""

from __future__ import annotations

from pathlib import Path

from kokoro_tvm.documents.readers.document import Chapter, Document, decoded

__all__ = ["read"]


def read(data: bytes, path: Path) -> Document:
    """The text of a file in UTF-8, or UTF-16 with a byte order mark. Raises InputError."""
    return Document(path.stem, (Chapter("", decoded(data, path)),))
