"""What a caller should know though nothing failed: another G2P, symbols left out, synthetic weights."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from kokoro_tvm.common.words import truncate

__all__ = ["SpeechWarning", "listed", "quoted", "receiving", "warn"]

_MOST_WORDS = 20  # that a message lists
_ROOM = __name__.rpartition(".")[0]
_receiver: ContextVar[Callable[[str], object] | None] = ContextVar("receiver", default=None)


class SpeechWarning(UserWarning):
    """Something about the speech that is worth one line; shown every time unless filtered."""


# Python shows a warning once for each place; a bundle of synthetic weights has to say so every time.
# Appended: a filter of the application's comes first.
warnings.filterwarnings("always", category=SpeechWarning, append=True)


def warn(message: str) -> None:
    """Issue a SpeechWarning that names the line outside the runtime from which the runtime was called.

    The number of frames in between differs: `Synthesizer.phonemize` may be called from outside or from
    `Synthesizer.__call__`.
    """
    if (receive := _receiver.get()) is not None:
        receive(message)
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_ROOM):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, SpeechWarning, stacklevel=level)


@contextmanager
def receiving(receive: Callable[[str], object]) -> Iterator[None]:
    """While it is entered, `receive` gets the message of every SpeechWarning of this thread as well."""
    token = _receiver.set(receive)
    try:
        yield
    finally:
        _receiver.reset(token)


def quoted(text: str, most: int = 40) -> str:
    """Return the beginning of a text as a message shows it: in one line, of `most` characters."""
    return f"'{truncate(' '.join(text.split()), most)}'"


def listed(words: Iterable[str], between: str = " ") -> str:
    """Return words as a message lists them: each once and truncated, the first twenty."""
    distinct = list(dict.fromkeys(words))
    shown = between.join(map(truncate, distinct[:_MOST_WORDS]))
    return f"{shown} and {len(distinct) - _MOST_WORDS} more" if len(distinct) > _MOST_WORDS else shown
