"""Limits and names of prosody: boundaries, punctuation, pauses, factors on pitch and speed."""

from __future__ import annotations

from typing import Literal, TypeAlias

Boundary: TypeAlias = Literal["clause", "sentence", "paragraph", "end"]
"""What ends at a division of a text; the pause depends on it."""

MARKS = frozenset(';:,.!?—…"()“”«»¡¿')
"""Punctuation in phonemes; other symbols, except spaces, belong to words."""

LONGEST_PAUSE = 3600
"""Maximum pause in seconds, so that a typing error does not allocate all memory."""

FACTORS = (0.1, 10.0)
"""Minimum and maximum factor on the pitch and the speed of a word; no voice reaches beyond."""
