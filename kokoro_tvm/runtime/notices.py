"""Warnings about speech: another G2P, omitted symbols, synthetic weights."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from kokoro_tvm.common.words import truncate

_MAX_WORDS = 20  # in a list of a message
_PACKAGE = __name__.rpartition(".")[0]
_receiver: ContextVar[Callable[[str], object] | None] = ContextVar("receiver", default=None)


class SpeechWarning(UserWarning):
    """A warning about speech; shown every time unless filtered."""


class Notice(str):
    """Sentence about a text, with the words of the text that it is about."""

    words: tuple[str, ...]

    def __new__(cls, sentence: str, words: Iterable[str] = ()) -> Notice:
        """Create a notice of a sentence and the words that it is about."""
        notice = super().__new__(cls, sentence)
        notice.words = tuple(words)
        return notice


# Python shows a warning once per place; a bundle with synthetic weights must warn every time.
# Appended, so that an application's filters come first.
warnings.filterwarnings("always", category=SpeechWarning, append=True)


def warn(message: str) -> None:
    """Issue a SpeechWarning at the line that called the runtime."""
    if (receive := _receiver.get()) is not None:
        receive(message)
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, SpeechWarning, stacklevel=level)


@contextmanager
def receiving(receive: Callable[[str], object]) -> Iterator[None]:
    """Pass the message of every SpeechWarning of this thread to `receive` too."""
    token = _receiver.set(receive)
    try:
        yield
    finally:
        _receiver.reset(token)


def quoted(text: str, most: int = 40) -> str:
    """Return the first `most` characters of a text in quotes, on one line."""
    return f"'{truncate(' '.join(text.split()), most)}'"


def listed(words: Iterable[str], between: str = " ") -> str:
    """Return the first twenty distinct words, truncated, and the number of the others."""
    distinct = list(dict.fromkeys(words))
    shown = between.join(map(truncate, distinct[:_MAX_WORDS]))
    return f"{shown} and {len(distinct) - _MAX_WORDS} more" if len(distinct) > _MAX_WORDS else shown
