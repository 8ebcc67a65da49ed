"""What every reader makes of a file."""

from __future__ import annotations

import codecs
import itertools
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.speech.plan import Plan

__all__ = ["Chapter", "Document", "Slot", "decoded", "left_out"]

_BETWEEN = "\n\n"
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True)
class Chapter:
    """A title, "" where there is none, and the text, which includes the title where it is to be spoken."""

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
    """Chapters in order, or slots, or a plan; notes: what was left out, in sentences."""

    title: str
    chapters: tuple[Chapter, ...]
    slots: tuple[Slot, ...] = ()
    notes: tuple[str, ...] = ()
    plan: Plan | None = None

    @property
    def text(self) -> str:
        """All chapters, with blank lines between them."""
        return _BETWEEN.join(chapter.text for chapter in self.chapters)

    @property
    def starts(self) -> tuple[int, ...]:
        """The place in `text` where each chapter begins."""
        lengths = (len(chapter.text) + len(_BETWEEN) for chapter in self.chapters)
        return tuple(itertools.accumulate(lengths, initial=0))[:-1]


def decoded(data: bytes, path: Path, declared: str = "utf-8") -> str:
    """Bytes as text, in the encoding of a byte order mark, else the one `declared`; raises InputError."""
    encoding = next((name for mark, name in _MARKS.items() if data.startswith(mark)), declared)
    try:
        return data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not {encoding.upper()} text ({error}). Convert it to UTF-8 first."
        ) from error


def left_out(count: int, what: str, kind: str) -> str:
    """The note about what is not read, such as 2 blocks of code; "" where there is none."""
    return f"Left out: {count} {what}{'s' * (count > 1)} {kind}." if count else ""
