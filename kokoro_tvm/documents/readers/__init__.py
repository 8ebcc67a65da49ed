"""Documents to be spoken: one module per kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from kokoro_tvm.documents.readers import epub, html, plan, srt, text
from kokoro_tvm.documents.readers.document import Document
from kokoro_tvm.errors import InputError

__all__ = ["READERS", "Document", "read_document"]

_Read: TypeAlias = Callable[[bytes, Path], Document]


def _markdown(data: bytes, path: Path) -> Document:
    from kokoro_tvm.documents.readers import markdown  # its parser takes tens of milliseconds to load

    return markdown.read(data, path)


READERS: Mapping[str, _Read] = {
    ".txt": text.read,
    ".text": text.read,
    ".ssml": text.read,
    ".md": _markdown,
    ".markdown": _markdown,
    ".html": html.read,
    ".htm": html.read,
    ".xhtml": html.read,
    ".epub": epub.read,
    ".srt": srt.read,
    ".json": plan.read,
}
"""Suffix of a file -> what reads it, from its bytes and its path."""


def read_document(path: str | Path) -> Document:
    """The text of a file, by its suffix.

    Raises InputError where the file cannot be read, is of another kind or damaged, or has nothing to speak.
    """
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: files to speak are {', '.join(sorted(READERS))}; name or convert it so.")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    document = reader(data, path)
    if not any(char.isalnum() for char in document.text):
        raise InputError(f"There is nothing to speak in {path}: it has no letter and no digit.")
    return document
