"""English text to phonemes: tokenizer, tagger, lexicon, and letters for what no lexicon has.

It does what misaki 0.9.4 (hexgrad, Apache-2.0) does with spaCy's tagger, without either: the stage `phonemes`
of a build compares the two.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from kokoro_tvm.runtime.text.frontend.alphabet import CONSONANTS, VOWELS, restress
from kokoro_tvm.runtime.text.frontend.capitals import choose_shouted_tags, find_shouted_words
from kokoro_tvm.runtime.text.frontend.data import EnglishData
from kokoro_tvm.runtime.text.frontend.homographs import Homographs
from kokoro_tvm.runtime.text.frontend.lexicon import FollowingSound, Lexicon, capital_stress
from kokoro_tvm.runtime.text.frontend.parts import (
    PAUSE_MARKS,
    SILENT_JOINERS,
    WordPart,
    finish_word,
    group_into_words,
    join_parts,
)
from kokoro_tvm.runtime.text.frontend.source import Link, SourceText
from kokoro_tvm.runtime.text.frontend.tagger import Tagger
from kokoro_tvm.runtime.text.frontend.tokenizer import RawToken, Tokenizer
from kokoro_tvm.runtime.text.frontend.tokens import Token

__all__ = ["EnglishFrontEnd", "FallbackReader", "Pronunciation"]

Pronunciation = tuple[str, str]
"""Phonemes of a word that no lexicon has, and what they come from ("espeak", "letters", "spelled")."""
FallbackReader = Callable[[str], "Pronunciation | None"]

# The model's symbols for the tap of American "better" and for the glottal stop.
_WRITTEN = str.maketrans({"ɾ": "T", "ʔ": "t"})
_APOSTROPHES = str.maketrans({"‘": "'", "’": "'"})
_LONGEST = 20
"""Parts of a word that are looked up together. No lexicon has a word of more than 13, and with any number of
them the time for "a@a@a@..." would grow with the cube of its length."""


class EnglishFrontEnd:
    """The front end of American or British English. Threads may share it, as far as they may its guesser."""

    def __init__(self, data: EnglishData, british: bool, guess: FallbackReader | None = None) -> None:
        """guess: what reads words that are in no lexicon; without it they have no phonemes."""
        self._tokenizer = Tokenizer(data.tokenizer)
        self._tagger = Tagger(data.tagger)
        self._homographs = Homographs(data.homographs) if data.homographs else None
        self._lexicon = Lexicon(data.gold, data.silver, british)
        self._guess = guess or (lambda word: None)

    def convert(self, source: SourceText) -> list[Token]:
        """The words and marks of a text in order, with their places in its source; its links are followed.

        A word whose `origin` is "" has no phonemes.
        """
        text = source.text
        lead = len(text) - len(text.lstrip())
        links = [replace(link, start=link.start - lead, end=link.end - lead) for link in source.links]
        words = group_into_words(self._tag(text[lead:], links))
        context = FollowingSound()
        for word in reversed(words):
            context = self._read(word, context)
        tokens = []
        for word in words:
            whole = join_parts(word)
            start, end = source.span(lead + whole.start, lead + whole.end)
            phonemes = (whole.phonemes or "").translate(_WRITTEN)
            tokens.append(Token(whole.text, start, end, phonemes, whole.space, whole.tag, whole.origin))
        return tokens

    def _tag(self, text: str, links: Sequence[Link]) -> list[WordPart]:
        """Parts of `text` with their tags, and with what the links ask of them."""
        pieces = list(_cut(self._tokenizer(text), links))
        parts: list[WordPart] = []
        spoken: Link | None = None
        large = find_shouted_words([piece.text for piece in pieces], self._lexicon.is_initialism)
        small = [
            replace(piece, text=piece.text.lower()) if shouted else piece
            for piece, shouted in zip(pieces, large, strict=True)
        ]
        tags, states = self._tagger(small)
        readings: Sequence[str | None] = [None] * len(pieces)
        if self._homographs is not None:
            readings = self._homographs([piece.text for piece in small], tags, states)
        if any(large):
            texts = [piece.text for piece in pieces]
            tags = choose_shouted_tags(texts, tags, self._tagger(pieces)[0], large)
        for piece, tag, reading, shouted in zip(pieces, tags, readings, large, strict=True):
            if piece.text.isspace():
                if parts:
                    parts[-1].space = " "
                continue
            end = piece.start + len(piece.text)
            part = WordPart(piece.text, piece.start, end, tag, " " if piece.space else "")
            part.large, part.reading = shouted, reading
            link = next((link for link in links if link.start < end and link.end > piece.start), None)
            if link is not None:
                part.stress = link.stress
            if link is not None and link.phonemes is not None:
                # What a link spans is one word, spoken where it begins.
                part.set_phonemes("" if link is spoken else link.phonemes, link.origin)
                if link is spoken:
                    part = join_parts([parts.pop(), part])
                spoken = link
            parts.append(part)
        return parts

    def _read(self, word: Sequence[WordPart], context: FollowingSound) -> FollowingSound:
        """Give a word its phonemes; `context` is what follows it, and the result what it is to others."""
        if len(word) > 1:
            return self._read_parts(word, context)
        (part,) = word
        if part.phonemes is None:
            found = self._look_up(part, context) or self._guess(part.text)
            if found is not None:
                part.set_phonemes(*found)
        if part.phonemes is None and part.text in PAUSE_MARKS:
            part.set_phonemes(part.text, "mark")
        return _before(context, part.phonemes or "", part)

    def _read_parts(self, word: Sequence[WordPart], context: FollowingSound) -> FollowingSound:
        """The longest parts a lexicon knows, from the end of the word to its beginning."""
        right = len(word)
        guessed = False  # whether the whole word was: it stays unknown
        while right:
            for left in range(max(0, right - _LONGEST), right):
                if not all(part.is_open for part in word[left:right]):
                    continue
                whole = join_parts(word[left:right])
                if (found := self._look_up(whole, context)) is None:
                    continue
                word[left].set_phonemes(*found)
                for part in word[left + 1 : right]:
                    part.set_phonemes("", found[1])
                context = _before(context, found[0], whole)
                right = left
                break
            else:
                right -= 1
                if not word[right].is_open:
                    continue
                if all(c in SILENT_JOINERS for c in word[right].text):
                    word[right].set_phonemes("", "mark")
                elif not guessed and (guess := self._guess(join_parts(word).text)) is not None:
                    word[0].set_phonemes(*guess)
                    for part in word[1:]:
                        part.set_phonemes("", guess[1])
                    return context
                else:
                    guessed = True
        finish_word(word)
        return context

    def _look_up(self, part: WordPart, context: FollowingSound) -> Pronunciation | None:
        """Phonemes by lexicon, and that they are its."""
        spelled = unicodedata.normalize("NFKC", part.text.translate(_APOSTROPHES))
        stress = None if part.large else capital_stress(spelled)
        if part.reading is not None:
            return restress(restress(part.reading, stress), part.stress), "lexicon"
        phonemes = self._lexicon.read(spelled, part.tag, context, stress)
        return None if phonemes is None else (restress(phonemes, part.stress), "lexicon")


def _cut(pieces: Iterable[RawToken], links: Sequence[Link]) -> Iterator[RawToken]:
    """The pieces, cut where phonemes are given for a part of one: the rest of it is read too."""
    edges = sorted({edge for link in links if link.phonemes is not None for edge in (link.start, link.end)})
    for piece in pieces:
        end = piece.start + len(piece.text)
        places = [edge for edge in edges if piece.start < edge < end]
        if not places:
            yield piece
            continue
        for first, last in pairwise([piece.start, *places, end]):
            part = piece.text[first - piece.start : last - piece.start]
            yield RawToken(part, first, piece.space and last == end)


def _before(context: FollowingSound, phonemes: str, part: WordPart) -> FollowingSound:
    """The context of what stands before `part`, which says `phonemes` and is followed by `context`."""
    vowel = context.vowel
    for symbol in phonemes:
        if symbol in PAUSE_MARKS:
            vowel = None
        elif symbol in VOWELS or symbol in CONSONANTS:
            vowel = symbol in VOWELS
        else:
            continue
        break
    return FollowingSound(vowel, part.text in ("to", "To") or _is_large_to(part))


def _is_large_to(part: WordPart) -> bool:
    return part.text == "TO" and part.tag in ("TO", "IN")
