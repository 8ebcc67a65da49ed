"""Passages with links, for which C is compared with Python."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import front_end_vectors
from misaki_languages import sentences

from kokoro_tvm.runtime.text.frontend.source import Link, SourceText

_OWN = ("a 😀 105 b", "1", "NEW YORK 5 O'Neill's", "x")


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
