"""Parts of words on their way to phonemes: tagged, cut, grouped into words and joined again.

Words are cut and grouped as misaki does (hexgrad, Apache-2.0; misaki/en.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kokoro_tvm.runtime.text.frontend.alphabet import CONSONANTS, PRIMARY, VOWELS, restress, sound_weight
from kokoro_tvm.runtime.text.frontend.subtokens import split_word

PAUSE_MARKS = frozenset(";:,.!?—…")
"""Marks of a pause or a change of tone."""
SILENT_JOINERS = frozenset("',-._‘’/")
"""Marks inside a word that are not spoken."""
FALLBACK_ORIGINS = ("names", "espeak", "letters", "spelled", "")
"""Origins of phonemes that misaki's lexicon lacks; "" for none at all."""

_LONGEST_ONSET = 3
_JOINS = re.compile("[^\\W_]$|[-'’]$")
_LETTERED = frozenset(
    ("t-test", "t-tests", "t-table", "e-edition", "e-editions", "s-shaped", "b-boy", "b-boys")
)
_MARKS = PAUSE_MARKS | frozenset('"“”')
# Tags of marks (https://github.com/explosion/spaCy/blob/master/spacy/glossary.py), and the symbols of some.
_MARK_TAGS = frozenset([".", ",", "-LRB-", "-RRB-", "``", '""', "''", ":", "$", "#", "NFP"])
_BY_TAG = {"-LRB-": "(", "-RRB-": ")", "``": "“", '""': "”", "''": "”"}


@dataclass
class WordPart:
    """Word or part of one.

    Attributes:
        text, start, end, tag, space, origin: As in `Token`.
        phonemes: None until they are found.
        stress: Stress that a link asks for.
        apart: Whether a space is spoken before it inside a word.
        is_shouted: Whether it is in capitals because its neighbours are.
        reading: Phonemes that the homograph model chose.
        is_stuttered: Whether it is the repeated beginning of the word behind its hyphen: kn-know.
    """

    text: str
    start: int
    end: int
    tag: str
    space: str = ""
    phonemes: str | None = None
    origin: str = ""
    stress: float | None = None
    apart: bool = False
    is_shouted: bool = False
    reading: str | None = None
    is_stuttered: bool = False

    @property
    def is_open(self) -> bool:
        """Whether its phonemes are not found yet."""
        return self.phonemes is None

    def set_phonemes(self, phonemes: str, origin: str) -> None:
        """Set the phonemes and their origin."""
        self.phonemes, self.origin = phonemes, origin


def mark_stutters(parts: Sequence[WordPart]) -> None:
    """Mark beginnings of words that are repeated with hyphens ("kn-know"), and silence the hyphens."""
    for start, first in enumerate(parts):
        if start and not parts[start - 1].space and _JOINS.search(parts[start - 1].text):
            continue
        letters, end = first.text.lower(), start
        if not letters.isalpha() or len(letters) > _LONGEST_ONSET:
            continue
        while (
            end + 2 < len(parts)
            and parts[end].text.lower() == letters
            and parts[end + 1].text == "-"
            and all(part.is_open and not part.space for part in parts[end : end + 2])
        ):
            end += 2
        if end > start and parts[end].is_open and _is_stutter(first.text, parts[end].text, end > start + 2):
            for part, hyphen in zip(parts[start:end:2], parts[start + 1 : end : 2], strict=True):
                part.is_stuttered, part.space = True, " "
                hyphen.set_phonemes("", "mark")


def _is_stutter(beginning: str, word: str, is_repeated: bool) -> bool:
    """Return whether a beginning is one letter, or the consonants, of a longer word that is no name."""
    letters, whole = beginning.lower(), word.lower()
    if not whole.startswith(letters) or not whole[len(letters) : len(letters) + 1].isalpha():
        return False
    if f"{letters}-{whole}" in _LETTERED:
        return False
    is_name = beginning.isupper() and word[0].isupper() and not is_repeated
    return not is_name and (len(letters) == 1 or not set(letters) & set("aeiou"))


def find_onset(phonemes: str) -> str:
    """Return the first sounds of a word, as a stutter repeats them."""
    sounds = [symbol for symbol in phonemes if symbol in CONSONANTS or symbol in VOWELS]
    vowel = next((index for index, symbol in enumerate(sounds) if symbol in VOWELS), len(sounds))
    return "".join(sounds[:vowel]) + "ə" if vowel else "".join(sounds[:1])


def group_into_words(tokens: Sequence[WordPart]) -> list[list[WordPart]]:
    """Group parts into words; marks and parts with phonemes are words of one part."""
    words: list[list[WordPart]] = []
    growing = False  # whether the last word may take another part
    for token in tokens:
        for part in _cut(token) if token.is_open else [token]:
            if not part.is_open:
                pass
            elif part.tag == ":" and part.text in ("-", "–"):
                part.set_phonemes("—", "mark")
            elif part.tag in _MARK_TAGS and not any(map(str.isalnum, part.text)):
                marks = "".join(char for char in part.text if char in _MARKS)
                part.set_phonemes(_BY_TAG.get(part.tag, marks), "mark")
            if not part.is_open:
                words.append([part])
                growing = False
            elif growing and not words[-1][-1].space:
                words[-1].append(part)
            else:
                words.append([part])
                growing = not part.space
    return words


def _cut(token: WordPart) -> list[WordPart]:
    parts = [
        WordPart(text, token.start + place, token.start + place + len(text), token.tag)
        for place, text in split_word(token.text)
    ]
    for part in parts:
        part.stress, part.is_shouted = token.stress, token.is_shouted
        part.is_stuttered = token.is_stuttered
    if len(parts) == 1:
        parts[0].reading = token.reading
    parts[-1].space = token.space
    return parts


def join_parts(parts: Sequence[WordPart]) -> WordPart:
    """Join parts into one, whose phonemes are None if no part has any.

    Its tag is that of the part with the most letters; capitals count twice.
    """
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return first
    stresses = {part.stress for part in parts} - {None}
    phonemes: str | None = None
    for part in parts:
        if part.phonemes is not None:
            gap = part.apart and phonemes and part.phonemes and not phonemes[-1].isspace()
            phonemes = (phonemes or "") + (" " if gap else "") + part.phonemes
    return WordPart(
        text="".join(part.text + part.space for part in parts[:-1]) + last.text,
        start=first.start,
        end=last.end,
        tag=max(parts, key=lambda part: sum(1 if char == char.lower() else 2 for char in part.text)).tag,
        space=last.space,
        phonemes=phonemes,
        origin=_origin(parts),
        stress=stresses.pop() if len(stresses) == 1 else None,
        apart=first.apart,
        is_shouted=all(part.is_shouted for part in parts),
    )


def _origin(parts: Sequence[WordPart]) -> str:
    """Where the phonemes of a word come from: a guess where one of its parts does, else its first sound's."""
    origins = [part.origin for part in parts if part.phonemes != "" or part.origin]
    guess = next((origin for origin in origins if origin in FALLBACK_ORIGINS), None)
    if guess is not None:
        return guess
    return next((part.origin for part in parts if part.phonemes), origins[0] if origins else "")


def finish_word(parts: Sequence[WordPart]) -> None:
    """Finish a word that was read in parts: silence its joiners, and weaken surplus stresses."""
    text = join_parts(parts).text
    kinds = {_kind(char) for char in text if char not in SILENT_JOINERS}
    is_separated = " " in text or "/" in text or len(kinds) > 1
    for index, part in enumerate(parts):
        if part.phonemes is not None:
            part.apart = is_separated and index > 0
        elif index == len(parts) - 1 and part.text in PAUSE_MARKS:
            part.set_phonemes(part.text, "mark")
        elif all(char in SILENT_JOINERS for char in part.text):
            part.set_phonemes("", "mark")
    if is_separated:
        return
    sounds = sorted(
        (PRIMARY in part.phonemes, sound_weight(part.phonemes), index)
        for index, part in enumerate(parts)
        if part.phonemes
    )
    in_order = sorted(sounds, key=lambda sound: sound[2])
    if len(sounds) == 2 and len(parts[in_order[0][2]].text) == 1:
        weak_sounds = [in_order[1]]
    elif len(sounds) < 2 or sum(stressed for stressed, _, _ in sounds) <= (len(sounds) + 1) // 2:
        weak_sounds = []
    else:
        weak_sounds = sounds[: len(sounds) // 2]
    for _, _, index in weak_sounds:
        parts[index].phonemes = restress(parts[index].phonemes or "", -0.5)


def _kind(char: str) -> str:
    if char.isalpha():
        return "letter"
    return "figure" if char.isascii() and char.isdigit() else "mark"
