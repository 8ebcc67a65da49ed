"""Find the characters of a text that no token speaks, for a notice."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from kokoro_tvm.runtime.prosody import MARKS
from kokoro_tvm.runtime.text.frontend.source import WORD, SourceText
from kokoro_tvm.runtime.text.frontend.tokens import Token

_NO_SOUND = "".join(sorted(MARKS)) + " "
_SIGNS = ("Sc", "Sm", "So")  # categories of what is said by a word
_SIGNS_AND_MARKS = (*_SIGNS, "Mc", "Mn")  # such as vowel signs, with the letter they stand on
_SILENT = frozenset({"given", "user lexicon", "latin"})  # origins; words of the last have a note already


def find_unspoken(source: SourceText, tokens: Sequence[Token]) -> Iterator[str]:
    """Yield runs of letters, digits and named signs that no token speaks.

    Args:
        source: The text without markup.
        tokens: Tokens of the text, with places in its source.
    """
    first, last = min(source.starts, default=0), max(source.ends, default=0)
    spoken = bytearray(last - first)
    last_span = (0, 0)
    for token in tokens:
        if (token.start, token.end) == last_span:  # each word of a long number spans all of its figures
            continue
        if token.origin in _SILENT or token.phonemes.strip(_NO_SOUND):
            spoken[token.start - first : token.end - first] = b"\1" * (token.end - token.start)
            last_span = (token.start, token.end)
    for word in WORD.finditer(source.text):
        if 0 not in spoken[source.starts[word.start()] - first : source.ends[word.end() - 1] - first]:
            continue
        run = ""
        for place in range(*word.span()):
            char = source.text[place]
            is_counted = char.isalnum() or unicodedata.category(char) in (_SIGNS_AND_MARKS if run else _SIGNS)
            if is_counted and 1 not in spoken[source.starts[place] - first : source.ends[place] - first]:
                run += char
            elif run:
                yield run
                run = ""
        if run:
            yield run
