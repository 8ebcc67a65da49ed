"""What a text may ask for and a plan holds: marks, boundaries, pauses, and factors on pitch and speed."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["FACTORS", "LONGEST_PAUSE", "MARKS", "Boundary"]

Boundary: TypeAlias = Literal["clause", "sentence", "paragraph", "end"]
"""What ends where a text is divided: the pause depends on it."""

MARKS = frozenset(';:,.!?—…"()“”«»¡¿')
"""Symbols of a string of phonemes that are punctuation; whatever else is not a space belongs to a word."""

LONGEST_PAUSE = 3600
"""Seconds; keeps a slip of the finger from asking for all memory."""

FACTORS = (0.1, 10.0)
"""The least and the greatest factor on the pitch and on the speed of a word; beyond them it is no voice's."""
