"""Readers of documents: plain text, plans, and one module per other format."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.documents.readers.document import Chapter, Document, decode_text
from kokoro_tvm.runtime.documents.readers.isolation import read_isolated
from kokoro_tvm.runtime.speech.plan import Plan

__all__ = ["READERS", "Document", "read_document"]


def _read_text(data: bytes, path: Path) -> Document:
    return Document(path.stem, (Chapter("", decode_text(data, path)),))


def _read_plan(data: bytes, path: Path) -> Document:
    try:
        plan = Plan.from_json(decode_text(data, path))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return Document("", (Chapter("", " ".join(word.text for word in plan.words)),), plan=plan)


def _by_module(name: str, is_isolated: bool = False) -> Callable[[bytes, Path], Document]:
    """Return a reader that imports its module, and the parser that it needs, when it is called."""
    module = f"{__name__}.{name}"

    def read(data: bytes, path: Path) -> Document:
        if is_isolated:
            return read_isolated(module, data, path)
        document: Document = importlib.import_module(module).read(data, path)
        return document

    return read


_MARKDOWN, _HTML = _by_module("markdown"), _by_module("html")

READERS: Mapping[str, Callable[[bytes, Path], Document]] = {
    ".txt": _read_text,
    ".text": _read_text,
    ".ssml": _read_text,
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".html": _HTML,
    ".htm": _HTML,
    ".xhtml": _HTML,
    ".epub": _by_module("epub"),
    ".pdf": _by_module("pdf", is_isolated=True),
    ".docx": _by_module("docx", is_isolated=True),
    ".srt": _by_module("srt"),
    ".json": _read_plan,
}
"""Suffix of a file -> its reader, called with its bytes and its path."""


def read_document(path: str | Path) -> Document:
    """Read a file by its suffix.

    Raises:
        InputError: the file cannot be read, is of another kind or damaged, has nothing to speak, or needs
            the extra `documents`, which is not installed.
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
