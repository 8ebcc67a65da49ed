"""A recipe's text with its positions: where something stands, and an error that shows it."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from kokoro_tvm.common.errors import RecipeError, sentence

__all__ = ["LocatedRecipeError", "RecipeText", "Span"]

_WIDEST = 100  # columns of the shown line; a longer one is cut around the caret


class LocatedRecipeError(RecipeError):
    """A recipe error that knows its place: `path` as the user gave it, `line` and `column` from 1."""

    def __init__(self, message: str, path: str, line: int, column: int) -> None:
        super().__init__(message)
        self.path, self.line, self.column = path, line, column


@dataclass(frozen=True, slots=True)
class RecipeText:
    """A recipe file's path, as shown to the user, and its text."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text: line and column from 1, width in characters (0: a point)."""

    source: RecipeText
    line: int
    column: int
    width: int = 1

    def __str__(self) -> str:
        return f"{self.source.path}:{self.line}"

    def error(self, message: str) -> LocatedRecipeError:
        """Return an error that shows `message` and the place."""
        return LocatedRecipeError(self.message(message), self.source.path, self.line, self.column)

    def message(self, message: str) -> str:
        """path:line:column and what is wrong, then the offending line with carets under it."""
        lines = self.source.text.split("\n")
        line = lines[self.line - 1].rstrip("\r") if self.line <= len(lines) else ""
        shown, lead, width = _cut(line, self)
        gutter = f"{self.line:>4} | "
        caret = " " * (len(gutter) - 2) + "| " + " " * lead + "^" * width
        return f"{self}:{self.column}: {sentence(message)}\n{gutter}{shown}\n{caret}"


def _columns(text: str) -> int:
    """Terminal columns: combining marks (phonemes have them) take none, wide characters take two."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def _cut(line: str, span: Span) -> tuple[str, int, int]:
    """The part of the line around the span, the columns before the span in it, and the carets to draw."""
    start = min(span.column - 1, len(line))
    begin = 0 if len(line) <= _WIDEST else max(0, min(start - _WIDEST // 2, len(line) - _WIDEST))
    end = min(len(line), begin + _WIDEST)
    before, after = "…" if begin else "", "…" if end < len(line) else ""
    # What cannot be printed may be what a terminal would obey.
    shown = "".join(char if char.isprintable() else "·" for char in line[begin:end])
    lead = len(before) + _columns(shown[: start - begin])
    width = max(1, _columns(shown[start - begin : start - begin + span.width]))
    return before + shown + after, lead, width
