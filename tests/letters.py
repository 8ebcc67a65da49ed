"""A front end for tests: letters are their own phonemes and marks their own, so that anything can be said."""

from __future__ import annotations

import re

from toy_bundle import VOCABULARY

from kokoro_tvm.runtime.notices import Notice, warn
from kokoro_tvm.runtime.text.frontend.source import SourceText, apply_aliases
from kokoro_tvm.runtime.text.frontend.tokens import Token, Utterance


def read_letters(source: SourceText, code: str, front_end: object) -> list[Utterance]:
    """Words in the toy's alphabet: letters it lacks become `a`, a digit is two words of one place.

    What links give is followed; another language than American English is written as its letter. American
    English leaves Chinese and Japanese out, with a notice.
    """
    del front_end
    source = apply_aliases(source)
    tokens: list[Token] = []
    for found in re.finditer(r"(\w+|[^\w\s]+)(\s*)", source.text):
        start, end, space = found.start(1), found.end(1), " " if found[2] else ""
        link = next((link for link in source.links if link.start < end and link.end > start), None)
        start, end = source.span(start, end)
        if link is not None and link.phonemes is not None:
            first = link.start >= found.start(1)
            tokens.append(Token(found[1], start, end, link.phonemes if first else "", space, origin="given"))
        elif code == "a" and "\u3040" <= found[1][0] <= "\u9fff":
            warn(Notice(f"Left out: {found[1]}", (found[1],)))
        elif found[1].isdigit():
            tokens += [Token("two", start, end, "ab"), Token("dollars", start, end, "cd", space)]
        elif found[1][0].isalnum():
            phonemes = "".join(char if char in VOCABULARY else "a" for char in found[1].lower())
            tokens.append(Token(found[1], start, end, phonemes if code == "a" else code, space))
        else:
            phonemes = "".join(char for char in found[1] if char in VOCABULARY)
            tokens.append(Token(found[1], start, end, phonemes, space, origin="mark"))
    sounding = any(any(map(str.isalpha, token.phonemes)) for token in tokens)
    return [Utterance(tuple(tokens))] if sounding else []
