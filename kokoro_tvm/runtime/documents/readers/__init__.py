"""Documents to be spoken: plain texts, plans, and a module for every other kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.documents.readers import epub, html, srt
from kokoro_tvm.runtime.documents.readers.document import Chapter, Document, decoded
from kokoro_tvm.runtime.speech.plan import Plan

__all__ = ["READERS", "Document", "read_document"]


def _text(data: bytes, path: Path) -> Document:
    """Plain text as it is, one chapter, in UTF-8, or UTF-16 with a byte order mark. Raises InputError."""
    return Document(path.stem, (Chapter("", decoded(data, path)),))


def _plan(data: bytes, path: Path) -> Document:
    """A plan that `kokoro-tvm say --save-plan` wrote, edited or not, and the words in it as its text."""
    try:
        plan = Plan.from_json(decoded(data, path))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return Document("", (Chapter("", " ".join(word.text for word in plan.words)),), plan=plan)


def _markdown(data: bytes, path: Path) -> Document:
    from kokoro_tvm.runtime.documents.readers import markdown  # its parser takes tens of milliseconds to load

    return markdown.read(data, path)


READERS: Mapping[str, Callable[[bytes, Path], Document]] = {
    ".txt": _text,
    ".text": _text,
    ".ssml": _text,
    ".md": _markdown,
    ".markdown": _markdown,
    ".html": html.read,
    ".htm": html.read,
    ".xhtml": html.read,
    ".epub": epub.read,
    ".srt": srt.read,
    ".json": _plan,
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
