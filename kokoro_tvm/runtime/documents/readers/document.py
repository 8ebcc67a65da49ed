"""The document that every reader returns."""

from __future__ import annotations

import codecs
import importlib
import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import truncate
from kokoro_tvm.runtime.speech.plan import Plan

_SEPARATOR = "\n\n"
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True)
class Chapter:
    """A part of a document.

    Attributes:
        title: its headings, "" if it has none.
        text: what is spoken, the headings included; blank lines separate paragraphs.
    """

    title: str
    text: str


@dataclass(frozen=True)
class Slot:
    """A text to be spoken from `start` to `end`, in seconds."""

    start: float
    end: float
    text: str


@dataclass(frozen=True)
class Document:
    """A file's text.

    Attributes:
        title: "" if the file has none.
        chapters: in reading order, at least one.
        slots: subtitles; if there are any, they are spoken instead of the chapters.
        notes: sentences that say what was left out.
        plan: of a plan's file; it is spoken instead of the chapters.
        author: "" if the file names none.
        cover: JPEG or PNG; empty if the file has none.
    """

    title: str
    chapters: tuple[Chapter, ...]
    slots: tuple[Slot, ...] = ()
    notes: tuple[str, ...] = ()
    plan: Plan | None = None
    author: str = ""
    cover: bytes = b""

    def with_chapters(self, numbers: str) -> Document:
        """Return the document with some of its chapters.

        Args:
            numbers: From 1, such as "2-5,7".

        Raises:
            InputError: There is no such chapter, or the document is a plan or subtitles.
        """
        if self.plan is not None or self.slots:
            raise InputError("A plan and subtitles have no chapters. Leave out --chapters.")
        chosen: dict[int, None] = {}
        for part in numbers.split(","):
            first, dash, last = part.strip().partition("-")
            ends = (first, last if dash else first)
            if not all(end.isdecimal() for end in ends) or not (
                1 <= int(ends[0]) <= int(ends[1]) <= len(self.chapters)
            ):
                listed = ", ".join(
                    f"{n} {chapter.title}".strip() for n, chapter in enumerate(self.chapters, 1)
                )
                raise InputError(
                    f"There are no chapters {truncate(repr(numbers))}. Write numbers such as 2-5,7 of these: "
                    f"{truncate(listed, 400)}."
                )
            chosen |= dict.fromkeys(range(int(ends[0]), int(ends[1]) + 1))
        return replace(self, chapters=tuple(self.chapters[number - 1] for number in chosen))

    @property
    def text(self) -> str:
        """The text of all chapters, with blank lines between them."""
        return _SEPARATOR.join(chapter.text for chapter in self.chapters)

    @property
    def starts(self) -> tuple[int, ...]:
        """The index in `text` at which each chapter begins."""
        lengths = (len(chapter.text) + len(_SEPARATOR) for chapter in self.chapters)
        return tuple(itertools.accumulate(lengths, initial=0))[:-1]


def decode_text(data: bytes, path: Path, encoding: str = "utf-8") -> str:
    """Decode a file by its byte order mark, else by `encoding`; line ends become line feeds.

    Raises:
        InputError: a byte is invalid in that encoding.
    """
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS.items() if data.startswith(mark)), encoding)
    try:
        return data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not {encoding.upper()} text ({error}). Convert it to UTF-8 first."
        ) from error


def omission(count: int, noun: str, kind: str) -> str:
    """Return the note about what is left out, such as "Left out: 2 blocks of code.", or "" for none."""
    return f"Left out: {count} {noun}{'s' * (count > 1)} {kind}." if count else ""


def import_parser(module: str, path: Path) -> Any:
    """Import a module of the extra `documents`; raises InputError if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise InputError(
            f"{path} cannot be read: {path.suffix.lower()} files need {package}, which is not installed. "
            "Run `pip install 'kokoro-tvm[documents]'`."
        ) from error
