"""Letter-to-sound by rules beside espeak-ng, whose phonemes the voices were trained on."""

from __future__ import annotations

import re

import pytest
from misaki_languages import sentences
from pronunciation import CODES, error_rate, pairs, words

# Error rates measured, and a tenth more: of 2,000 frequent words that the rules were not written with, and of
# the sentences of `languages.txt` without figures, which are full of foreign names and abbreviations.
LIMITS = {
    "e": (0.0061, 0.023),
    "f": (0.0196, 0.052),
    "h": (0.0053, 0.019),
    "i": (0.0535, 0.034),
    "p": (0.0255, 0.041),
}


@pytest.mark.parametrize("code", LIMITS)
def test_sentences(code: str) -> None:
    texts = [text for text in sentences(code) if not re.search(r"[0-9]", text)]
    assert error_rate(pairs(texts, CODES[code])) < LIMITS[code][1]


@pytest.mark.slow("takes the words of wordfreq")
@pytest.mark.parametrize("code", LIMITS)
def test_words(code: str) -> None:
    assert error_rate(pairs(words(CODES[code], held=True), CODES[code])) < LIMITS[code][0]
