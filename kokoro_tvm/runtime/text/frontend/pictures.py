"""Speakable characters of a text: letters, digits, and emoji, which have names."""

from __future__ import annotations

import re

EMOJI = (
    "[\u231a\u231b\u23e9-\u23f3\u2600-\u27bf\u2b50\u2b55\U0001f1e6-\U0001f1ff\U0001f300-\U0001f3fa"
    "\U0001f400-\U0001faff]"
)
"""Pattern of one emoji, or of half a flag, without modifiers."""
_SPOKEN = re.compile(rf"[^\W_]|{EMOJI}")


def has_speakable_character(text: str) -> bool:
    """Return whether the text has a letter, digit or emoji."""
    return _SPOKEN.search(text) is not None
