"""What a caller should know though nothing failed: another G2P, symbols left out, synthetic weights."""

from __future__ import annotations

import sys
import warnings

__all__ = ["SpeechWarning", "quoted", "warn"]

_ROOM = __name__.rpartition(".")[0]


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
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_ROOM):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, SpeechWarning, stacklevel=level)


def quoted(text: str, most: int = 40) -> str:
    """The beginning of a text as a message shows it: in one line, of `most` characters."""
    return f"'{' '.join(text.split())[:most]}'"
