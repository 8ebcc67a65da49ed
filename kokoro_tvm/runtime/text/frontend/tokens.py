"""What the front end makes of a text: tokens with their phonemes and their place in the source."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

__all__ = ["LATIN", "NUMBER", "Token", "Utterance", "copy_spacing", "is_word_character"]

LATIN = "[A-Za-zÀ-ÖØ-öø-ɏ]"
"""A letter of the Latin script, as a regular expression."""

NUMBER = re.compile("[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+")
"""Figures of a number, in groups of three or not."""


@dataclass(frozen=True)
class Token:
    """A word or a mark.

    text: as it is read, after normalisation ("two dollars" for "$2"); start, end: the characters of the
    source text it stands for, as a slice; tag: the part of speech (Penn Treebank), "" where none is known;
    phonemes: in the model's alphabet, "" where nothing is spoken; space: what stands between it and the next
    token in the string of phonemes, " " or ""; origin: what the phonemes come from, as `kokoro-tvm phonemize`
    prints it ("lexicon", "letters", "espeak", "given", "mark", ...).
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
    """Tokens that are spoken in one breath, and the seconds of silence requested after them.

    pause: None leaves the pause to the marks and the settings.
    """

    tokens: tuple[Token, ...]
    pause: float | None = None

    @property
    def phonemes(self) -> str:
        """The string of phonemes that the tokens write, without space at both ends."""
        return "".join(token.phonemes + token.space for token in self.tokens).strip()


def copy_spacing(tokens: Iterable[Token], phonemes: str) -> Iterator[Token]:
    """The tokens with the spaces of a string of phonemes, which has their symbols in order, spaces aside."""
    places = [place for place, symbol in enumerate(phonemes) if not symbol.isspace()]
    places.append(len(phonemes))
    done = 0
    for token in tokens:
        first = done
        done += sum(not symbol.isspace() for symbol in token.phonemes)
        if done == first:
            yield replace(token, phonemes="", space="")
        else:
            end = places[done - 1] + 1
            yield replace(token, phonemes=phonemes[places[first] : end], space=phonemes[end : places[done]])


def is_word_character(char: str) -> bool:
    """Whether a character is a letter, a figure or a mark that stands with one, such as a vowel sign."""
    return char.isalnum() or unicodedata.category(char)[0] == "M"
