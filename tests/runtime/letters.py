"""A front end for tests: letters are their own phonemes and marks their own, so that anything can be said."""

from __future__ import annotations

import re

from toy_bundle import VOCABULARY

from kokoro_tvm.runtime.frontend.tokens import Token, Utterance


def read_letters(text: str, code: str, front_end: object) -> list[Utterance]:
    """Words in the toy's alphabet: letters it lacks become `a`, a digit is two words of one place."""
    del code, front_end
    tokens = []
    for found in re.finditer(r"(\w+|[^\w\s]+)(\s*)", text):
        start, end, space = found.start(1), found.end(1), " " if found[2] else ""
        if found[1].isdigit():
            tokens += [Token("two", start, end, "ab"), Token("dollars", start, end, "cd", space)]
        elif found[1][0].isalnum():
            phonemes = "".join(char if char in VOCABULARY else "a" for char in found[1].lower())
            tokens.append(Token(found[1], start, end, phonemes, space))
        else:
            phonemes = "".join(char for char in found[1] if char in VOCABULARY)
            tokens.append(Token(found[1], start, end, phonemes, space, origin="mark"))
    sounding = any(token.phonemes.isalpha() for token in tokens)
    return [Utterance(tuple(tokens))] if sounding else []
