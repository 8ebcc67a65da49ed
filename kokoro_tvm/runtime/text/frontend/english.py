"""English text to phonemes: tokenizer, tagger, lexicon, and letter-to-sound for unknown words.

It reproduces misaki 0.9.4 (hexgrad, Apache-2.0) with spaCy's tagger, without either package. The stage
`phonemes` of a build compares the two.
"""

from __future__ import annotations

import re
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
    find_onset,
    finish_word,
    group_into_words,
    join_parts,
    mark_stutters,
)
from kokoro_tvm.runtime.text.frontend.source import Link, SourceText
from kokoro_tvm.runtime.text.frontend.tagger import Tagger
from kokoro_tvm.runtime.text.frontend.tokenizer import RawToken, Tokenizer
from kokoro_tvm.runtime.text.frontend.tokens import Token

Pronunciation = tuple[str, str]
"""Phonemes, and their origin ("lexicon", "names", "espeak", "letters", "spelled")."""
FallbackReader = Callable[[str], "Pronunciation | None"]

# The model's symbols for the tap of American "better" and for the glottal stop.
_WRITTEN = str.maketrans({"ɾ": "T", "ʔ": "t"})
_APOSTROPHES = str.maketrans({"‘": "'", "’": "'"})
_RUN = re.compile(r"(.)\1\1+")  # of one letter in a stretched word
# No lexicon has a word of more than 13 parts. Without a limit, the time for "a@a@a@..." is cubic.
_MAX_PARTS = 20


class EnglishFrontEnd:
    """Front end of American or British English. Thread-safe if its fallback is."""

    def __init__(self, data: EnglishData, british: bool, guess: FallbackReader | None = None) -> None:
        """Create the front end; `guess` reads words that are in no lexicon, which else have no phonemes."""
        self._tokenizer = Tokenizer(data.tokenizer)
        self._tagger = Tagger(data.tagger)
        self._homographs = Homographs(data.homographs) if data.homographs else None
        self._lexicon = Lexicon(data.gold, data.silver, british)
        self._guess = guess or (lambda word: None)

    def find_tags(self, text: str) -> dict[int, str]:
        """Return the part of speech of each word of a text as it is written, by its first character."""
        pieces = list(self._tokenizer(text))
        tags, _ = self._tagger(pieces)
        return {piece.start: tag for piece, tag in zip(pieces, tags, strict=True)}

    def convert(self, source: SourceText) -> list[Token]:
        """Return the words and marks of a text in order, with places in its source.

        A word with the origin "" has no phonemes.
        """
        text = source.text
        lead = len(text) - len(text.lstrip())
        links = [replace(link, start=link.start - lead, end=link.end - lead) for link in source.links]
        words = group_into_words(self._tag(text[lead:], links))
        context = FollowingSound()
        for index, word in reversed(list(enumerate(words))):
            if word[0].is_stuttered:  # the word behind its hyphen is read already
                word[0].set_phonemes(find_onset(join_parts(words[index + 2]).phonemes or ""), "lexicon")
            context = self._read(word, context)
        tokens = []
        for word in words:
            whole = join_parts(word)
            start, end = source.span(lead + whole.start, lead + whole.end)
            phonemes = (whole.phonemes or "").translate(_WRITTEN)
            tokens.append(Token(whole.text, start, end, phonemes, whole.space, whole.tag, whole.origin))
        return tokens

    def _tag(self, text: str, links: Sequence[Link]) -> list[WordPart]:
        """Tag the tokens of a text, and apply its links."""
        pieces = list(_cut_at_links(self._tokenizer(text), links))
        parts: list[WordPart] = []
        last_link: Link | None = None
        shouted = find_shouted_words([piece.text for piece in pieces], self._lexicon.is_initialism)
        lowered = [
            replace(piece, text=piece.text.lower()) if is_shouted else piece
            for piece, is_shouted in zip(pieces, shouted, strict=True)
        ]
        tags, states = self._tagger(lowered)
        readings: Sequence[str | None] = [None] * len(pieces)
        if self._homographs is not None:
            readings = self._homographs([piece.text for piece in lowered], tags, states)
        if any(shouted):
            texts = [piece.text for piece in pieces]
            tags = choose_shouted_tags(texts, tags, self._tagger(pieces)[0], shouted)
        for piece, tag, reading, is_shouted in zip(pieces, tags, readings, shouted, strict=True):
            if piece.text.isspace():
                if parts:
                    parts[-1].space = " "
                continue
            end = piece.start + len(piece.text)
            part = WordPart(piece.text, piece.start, end, tag, " " if piece.space else "")
            part.is_shouted, part.reading = is_shouted, reading
            link = next((link for link in links if link.start < end and link.end > piece.start), None)
            if link is not None:
                part.stress = link.stress
            if link is not None and link.phonemes is not None:
                # The span of a link is one word, spoken at its start.
                part.set_phonemes("" if link is last_link else link.phonemes, link.origin)
                if link is last_link:
                    part = join_parts([parts.pop(), part])
                last_link = link
            parts.append(part)
        mark_stutters(parts)
        return parts

    def _read(self, word: Sequence[WordPart], context: FollowingSound) -> FollowingSound:
        """Set the phonemes of a word; return the context for the word before it."""
        if len(word) > 1:
            return self._read_parts(word, context)
        (part,) = word
        if part.phonemes is None:
            pronunciation = self._look_up(part, context) or self._look_up_stretched(part, context)
            pronunciation = pronunciation or self._guess(part.text)
            if pronunciation is not None:
                part.set_phonemes(*pronunciation)
        if part.phonemes is None and part.text in PAUSE_MARKS:
            part.set_phonemes(part.text, "mark")
        return _context_before(context, part.phonemes or "", part)

    def _read_parts(self, word: Sequence[WordPart], context: FollowingSound) -> FollowingSound:
        """Look up the longest known groups of parts, from the end of the word to its beginning."""
        right = len(word)
        is_guessed = False  # whether the whole word was looked up in vain
        while right:
            for left in range(max(0, right - _MAX_PARTS), right):
                if not all(part.is_open for part in word[left:right]):
                    continue
                whole = join_parts(word[left:right])
                if (pronunciation := self._look_up(whole, context)) is None:
                    continue
                word[left].set_phonemes(*pronunciation)
                for part in word[left + 1 : right]:
                    part.set_phonemes("", pronunciation[1])
                context = _context_before(context, pronunciation[0], whole)
                right = left
                break
            else:
                right -= 1
                if not word[right].is_open:
                    continue
                if all(char in SILENT_JOINERS for char in word[right].text):
                    word[right].set_phonemes("", "mark")
                elif not is_guessed and (guess := self._guess(join_parts(word).text)) is not None:
                    word[0].set_phonemes(*guess)
                    for part in word[1:]:
                        part.set_phonemes("", guess[1])
                    return context
                else:
                    is_guessed = True
        finish_word(word)
        return context

    def _look_up(self, part: WordPart, context: FollowingSound) -> Pronunciation | None:
        """Return the phonemes of a part by homograph model or lexicon, or None."""
        spelled = unicodedata.normalize("NFKC", part.text.translate(_APOSTROPHES))
        stress = None if part.is_shouted else capital_stress(spelled)
        if part.reading is not None:
            return restress(restress(part.reading, stress), part.stress), "lexicon"
        phonemes = self._lexicon.read(spelled, part.tag, context, stress)
        return None if phonemes is None else (restress(phonemes, part.stress), "lexicon")

    def _look_up_stretched(self, part: WordPart, context: FollowingSound) -> Pronunciation | None:
        """Return the phonemes of a word that is stretched in writing ("waaay"), or None."""
        if not part.text.isalpha() or _RUN.search(part.text) is None:
            return None
        shorter = (replace(part, text=_RUN.sub(letters, part.text)) for letters in (r"\1\1", r"\1"))
        return next(filter(None, (self._look_up(word, context) for word in shorter)), None)


def _cut_at_links(pieces: Iterable[RawToken], links: Sequence[Link]) -> Iterator[RawToken]:
    """Cut tokens at the edges of links that give phonemes, so that the rest of a token is read too."""
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


def _context_before(context: FollowingSound, phonemes: str, part: WordPart) -> FollowingSound:
    """Return the context for the word before `part`."""
    vowel = context.vowel
    for symbol in phonemes:
        if symbol in PAUSE_MARKS:
            vowel = None
        elif symbol in VOWELS or symbol in CONSONANTS:
            vowel = symbol in VOWELS
        else:
            continue
        break
    return FollowingSound(vowel, part.text in ("to", "To") or _is_capital_to(part))


def _is_capital_to(part: WordPart) -> bool:
    return part.text == "TO" and part.tag in ("TO", "IN")
