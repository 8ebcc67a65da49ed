"""Passages with links and their readings by Python, with which C and WebAssembly are compared."""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Iterator
from typing import Any

import front_end_vectors
from misaki_languages import sentences

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.source import Link, SourceText
from kokoro_tvm.runtime.text.reading import phonemize_sentence

Reading = tuple[Any, list[str]]
"""Utterances as lists of tokens, or the error; and the notices. Places are characters."""
_OWN = ("a 😀 105 b", "1", "NEW YORK 5 O'Neill's", "x")


def reading(source: SourceText, code: str, front_end: FrontEnd) -> Reading:
    """Read a passage with Python."""
    with warnings.catch_warnings(record=True) as caught, front_end_vectors.without_espeak():
        warnings.simplefilter("always")
        try:
            read = phonemize_sentence(source, code, front_end)
        except InputError as error:
            return {"error": str(error)}, []
    tokens = [
        [[t.text, t.start, t.end, t.phonemes, t.space, t.tag, t.origin] for t in item.tokens] for item in read
    ]
    return tokens, [front_end_vectors.message(str(item.message)) for item in caught]


def drawn_passages(code: str, count: int) -> Iterator[SourceText]:
    """Draw texts of one line with links of every kind, beside and within words, with space at their ends."""
    draw = random.Random(code)
    texts = [text for text, _ in front_end_vectors.few_texts()] if code in "ab" else sentences(code)
    lines = (" ".join(text[:120].split()) for text in draw.sample(list(texts), count))
    for text in (*lines, *_OWN):
        places = sorted(draw.sample(range(len(text) + 1), min(2 * draw.randint(0, 4), len(text) // 2 * 2)))
        spans = zip(places[::2], places[1::2], strict=True)
        yield SourceText.of(text, 0, tuple(Link(*span, **_request(draw)) for span in spans))


def _request(draw: random.Random) -> dict[str, Any]:
    """What a link asks for."""
    return draw.choice(
        (
            {"phonemes": draw.choice(("ˈa", "wˈɜɹld", ""))},
            {"stress": draw.choice((-3, -2, -1, -0.5, 0, 0.5, 1, 2, 7))},
            {"flags": draw.choice(("a", "&", "n&a", "x"))},
            {"alias": draw.choice(("World Wide Web", "5", "", "😀", "A"))},
        )
    )


def units(text: str) -> list[int]:
    """Return the UTF-16 unit of every character, and of the end."""
    return [0, *itertools.accumulate(1 + (char > "\uffff") for char in text)]
