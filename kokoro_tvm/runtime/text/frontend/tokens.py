"""Output of the front end: tokens with phonemes and their place in the source."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

LATIN = "[A-Za-zÀ-ÖØ-öø-ɏ]"
"""Pattern of a letter of the Latin script."""

NUMBER = re.compile("[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+")
"""Digits of a number, in groups of three or not."""


@dataclass(frozen=True)
class Token:
    """Word or mark.

    Attributes:
        text: As it is read after normalization ("two dollars" for "$2").
        start, end: Slice of the source that it stands for.
        phonemes: In the model's alphabet; "" if nothing is spoken.
        space: What separates it from the next token in the phoneme string, " " or "".
        tag: Part of speech (Penn Treebank); "" if unknown.
        origin: Where the phonemes come from, as `kokoro-tvm phonemize` prints it ("lexicon", "names",
            "letters", "espeak", "given", "mark", ...).
    """

    text: str
    start: int
    end: int
    phonemes: str
    space: str = " "
    tag: str = ""
    origin: str = ""


@dataclass(frozen=True)
class Utterance:
    """Tokens that are spoken together.

    Attributes:
        pause: Seconds of silence after them; None leaves it to the marks and the settings.
    """

    tokens: tuple[Token, ...]
    pause: float | None = None

    @property
    def phonemes(self) -> str:
        """The phoneme string of the tokens, without space at both ends."""
        return "".join(token.phonemes + token.space for token in self.tokens).strip()


def copy_spacing(tokens: Iterable[Token], phonemes: str) -> Iterator[Token]:
    """Give tokens the spaces of a phoneme string that has their symbols in order."""
    places = [place for place, symbol in enumerate(phonemes) if not symbol.isspace()]
    places.append(len(phonemes))
    end_symbol = 0
    for token in tokens:
        first_symbol = end_symbol
        end_symbol += sum(not symbol.isspace() for symbol in token.phonemes)
        if end_symbol == first_symbol:
            yield replace(token, phonemes="", space="")
        else:
            end = places[end_symbol - 1] + 1
            yield replace(
                token, phonemes=phonemes[places[first_symbol] : end], space=phonemes[end : places[end_symbol]]
            )


def is_word_character(char: str) -> bool:
    """Return whether a character is a letter, a digit or a combining mark such as a vowel sign."""
    return char.isalnum() or unicodedata.category(char)[0] == "M"
