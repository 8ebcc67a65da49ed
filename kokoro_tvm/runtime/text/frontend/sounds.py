"""Letter-to-sound by rules: words of a language whose spelling says how they sound.

A word passes through the rules of its language one pass after the other, first alone, then with its
neighbours (liaison, assimilation); signs between words are seen by the rules and stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kokoro_tvm.runtime.prosody import MARKS
from kokoro_tvm.runtime.text.frontend.rewriting import EDGE, Pass
from kokoro_tvm.runtime.text.frontend.tokens import Token

__all__ = ["Sounds"]

_PARTS = re.compile(
    rf"(?P<word>(?:[^\W\d_]|[\u0300-\u036f\u0900-\u0963])(?:'?(?:[^\W\d_]|[\u0300-\u036f\u0900-\u0963]))*'?)|(?P<mark>[{re.escape(''.join(sorted(MARKS)))}।॥])"
)
_DANDA = str.maketrans("।॥", "..")


class Sounds:
    """The letter-to-sound rules of one language. Threads may share it."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """data: what the front end's file has of the language."""
        self._tags: Mapping[str, str] = data["tags"]
        self._words: Mapping[str, str] = data["words"]
        self._passes = [Pass.of(each) for each in data["passes"]]
        self._clauses = [Pass.of(each) for each in data["clauses"]]

    def word(self, word: str) -> str:
        """What a word is on its own, before it meets its neighbours."""
        before, apostrophe, last = word.lower().rpartition("'")
        text = EDGE + self._tags.get(last, "") + before + apostrophe + self._words.get(last, last) + EDGE
        for each in self._passes:
            text = each(text)
        return text[1:-1]

    def __call__(self, text: str) -> list[Token]:
        """The words and marks of a text, with their places in it."""
        parts = list(_PARTS.finditer(text))
        line = EDGE + EDGE
        for part in parts:
            line += (self.word(part[0]) if part["word"] else part[0].translate(_DANDA)) + EDGE
        line += EDGE
        for each in self._clauses:
            line = each(line)
        tokens = []
        spoken = line[2:-2].split(EDGE) if parts else []
        for index, (part, phonemes) in enumerate(zip(parts, spoken, strict=True)):
            end = parts[index + 1].start() if index + 1 < len(parts) else part.end()
            space = " " if text[part.end() : end].strip("'") else ""
            origin = "mark" if part["mark"] else "rules"
            tokens.append(Token(part[0], *part.span(), phonemes, space, origin=origin))
        return tokens
