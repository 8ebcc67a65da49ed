"""Lexicon lookup: by spelling, part of speech and following sound, with the endings of English.

The rules are those of misaki 0.9.4 (hexgrad, Apache-2.0; misaki/en.py), whose output the voices were trained
on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kokoro_tvm.runtime.text.frontend.alphabet import PRIMARY, SECONDARY, restress
from kokoro_tvm.runtime.text.frontend.dictionary import Dictionary, Entry

# An American t after these is tapped before a vowel.
_TAPPING = frozenset("AIOWYiuæɑəɛɪɹʊʌ")
_SYMBOLS = {"%": "percent", "&": "and", "+": "plus", "@": "at"}
_ADDRESS_SYMBOLS = {".": "dot", "/": "slash"}  # in what is tagged as an address
_VERSUS = re.compile(r"vs\.?", re.IGNORECASE)
_DOUBLED = re.compile(r"([bcdgklmnprstvxz])\1ing$|cking$")
_CLASSES = {"VB": "VERB", "NN": "NOUN", "ADV": "ADV", "RB": "ADV", "ADJ": "ADJ", "JJ": "ADJ"}
# Stress of a word with a capital, and of one of capitals alone.
_ONE_CAPITAL, _ALL_CAPITALS = 0.5, 2.0


@dataclass(frozen=True)
class FollowingSound:
    """What is spoken after a word.

    Attributes:
        vowel: Whether it begins with a vowel; None for a pause or nothing.
        to: Whether it is "to".
    """

    vowel: bool | None = None
    to: bool = False


class Lexicon:
    """Lexicon of American or British English. Thread-safe."""

    def __init__(self, gold: Dictionary, silver: Dictionary, british: bool) -> None:
        """Create a lexicon.

        Args:
            gold: Checked by hand, with parts of speech.
            silver: Generated; looked up second.
            british: British instead of American.
        """
        self.british = british
        self._gold = gold
        self._silver = silver

    def read(self, word: str, tag: str, context: FollowingSound, stress: float | None) -> str | None:
        """Return the phonemes of a word, or None if neither it nor its stem is in the lexicon.

        Args:
            word: As it is written.
            tag: Its part of speech.
            context: What follows it.
            stress: As `restress` takes it.
        """
        special = self._read_special(word, tag, stress, context)
        if special is not None:
            return special
        lower = word.lower()
        if self._may_be_lowered(word, tag) and (
            self._has_entry(lower) or self._read_inflected(lower, tag, stress, context)
        ):
            word = lower
        return self.read_entry(word, tag, context, stress)

    def read_entry(self, word: str, tag: str, context: FollowingSound, stress: float | None) -> str | None:
        """Return the phonemes of a word by its entry or its stem's, or None. Arguments as in `read`."""
        for spelling in _without_apostrophe(word):
            if self._is_known(spelling):
                return self.look_up(spelling, tag, stress, context)
        return self._read_inflected(word, tag, stress, context)

    def look_up(
        self, word: str, tag: str = "", stress: float | None = None, context: FollowingSound | None = None
    ) -> str | None:
        """Return the phonemes of a lexicon entry, or of the word's letters; None if a letter has no name.

        Args:
            word: As it is written.
            tag: Its part of speech.
            stress: As `restress` takes it.
            context: What follows; None if that is unknown, as inside a number.
        """
        is_name = False
        if word == word.upper() and self._find_entry(self._gold, word) is None:
            word = word.lower()
            is_name = tag == "NNP"
        entry = self._find_entry(self._gold, word)
        if entry is None and not is_name:
            entry = self._find_entry(self._silver, word)
        phonemes = _choose(entry, tag, context)
        if phonemes is None or (is_name and PRIMARY not in phonemes):
            spelled = self.spell(word)
            if spelled is not None or phonemes is None:
                return spelled
        return restress(phonemes, stress)

    def is_initialism(self, word: str) -> bool:
        """Return whether a word in capitals may be more than a word in lower case: US, NATO, HTML."""
        return self._gold.get(word) is not None or not self._has_entry(word.lower())

    def spell(self, word: str) -> str | None:
        """Return the names of the letters of a word, the last one stressed."""
        names = [_choose(self._gold.get(letter.upper()), "", None) for letter in word if letter.isalpha()]
        if None in names or not names:
            return None
        phonemes = restress("".join(name for name in names if name), 0)
        head, mark, tail = phonemes.rpartition(SECONDARY)
        return head + PRIMARY + tail if mark else phonemes

    def plural(self, phonemes: str) -> str:
        """Append the sound of the ending -s."""
        if phonemes[-1] in "ptkfθ":
            return phonemes + "s"
        if phonemes[-1] in "szʃʒʧʤ":
            return phonemes + ("ɪ" if self.british else "ᵻ") + "z"
        return phonemes + "z"

    def past(self, phonemes: str) -> str:
        """Append the sound of the ending -ed."""
        if phonemes[-1] in "pkfθʃsʧ":
            return phonemes + "t"
        if phonemes[-1] == "d":
            return phonemes + ("ɪ" if self.british else "ᵻ") + "d"
        if phonemes[-1] != "t":
            return phonemes + "d"
        if self.british or len(phonemes) < 2:
            return phonemes + "ɪd"
        return phonemes[:-1] + "ɾᵻd" if phonemes[-2] in _TAPPING else phonemes + "ᵻd"

    def progressive(self, phonemes: str) -> str | None:
        """Append the sound of the ending -ing; return None if a British stem lost its last sound."""
        if self.british and phonemes[-1] in "əː":
            return None
        if not self.british and len(phonemes) > 1 and phonemes[-1] == "t" and phonemes[-2] in _TAPPING:
            return phonemes[:-1] + "ɾɪŋ"
        return phonemes + "ɪŋ"

    def _read_special(self, word: str, tag: str, stress: float | None, context: FollowingSound) -> str | None:
        """Return the phonemes of a word that depends on more than spelling and part of speech, or None."""
        if tag == "ADD" and word in _ADDRESS_SYMBOLS:
            return self.look_up(_ADDRESS_SYMBOLS[word], "", -0.5, context)
        if word in _SYMBOLS:
            return self.look_up(_SYMBOLS[word], "", None, context)
        if _is_abbreviation(word):
            return self.spell(word)
        if tag == "IN" and _VERSUS.fullmatch(word):
            return self.look_up("versus", "", None, context)
        lower = word.lower()
        # Of capitals alone it is a word only as the part of speech that the word has.
        match lower if word in (lower, lower.capitalize(), lower.upper()) else "":
            case "a":
                return "ɐ" if tag == "DT" else "ˈA"
            case "am":
                return self._am(word, tag, stress, context)
            case "an":
                return self.spell(word) if word == "AN" and tag.startswith("NN") else "ɐn"
            case "i" if word == "I" and tag == "PRP":
                return f"{SECONDARY}I"
            case "by" if _class(tag) == "ADV":
                return "bˈI"
            case "to" if word != "TO" or tag in ("TO", "IN"):
                own = self.look_up("to") if context.vowel is None else None
                return own if context.vowel is None else "tʊ" if context.vowel else "tə"
            case "in" if word != "IN" or tag != "NNP":
                return "ɪn" if context.vowel is not None and tag == "IN" else PRIMARY + "ɪn"
            case "the" if word != "THE" or tag == "DT":
                return "ði" if context.vowel else "ðə"
            case "used":
                entry = self._gold.get("used")
                return _choose(entry, "VBD" if tag in ("VBD", "JJ") and context.to else "DEFAULT", None)
        return None

    def _am(self, word: str, tag: str, stress: float | None, context: FollowingSound) -> str | None:
        if tag.startswith("NN"):
            return self.spell(word)
        if context.vowel is None or word != "am" or (stress and stress > 0):
            return _choose(self._gold.get("am"), "", None)
        return "ɐm"

    def _may_be_lowered(self, word: str, tag: str) -> bool:
        """Return whether an unknown word with capitals may be a known one; short names are not."""
        return (
            len(word) > 1
            and word.replace("'", "").isalpha()
            and word != word.lower()
            and (tag != "NNP" or len(word) > 7)
            and not self._has_entry(word)
            and (word == word.upper() or word[1:] == word[1:].lower())
        )

    def _is_known(self, word: str) -> bool:
        """Return whether `look_up` has phonemes: of words, symbols, single letters, words in capitals."""
        if word in _SYMBOLS or self._has_entry(word):
            return True
        if not (word.isalpha() and word.isascii()):
            return False
        if len(word) == 1 or (
            word == word.upper() and self._find_entry(self._gold, word.lower()) is not None
        ):
            return True
        return word[1:] == word[1:].upper()

    def _has_entry(self, word: str) -> bool:
        return (
            self._find_entry(self._gold, word) is not None or self._find_entry(self._silver, word) is not None
        )

    def _read_inflected(
        self, word: str, tag: str, stress: float | None, context: FollowingSound
    ) -> str | None:
        """Return the phonemes of a known word with the ending -s, -ed or -ing."""
        ing_stress = 0.5 if stress is None else stress  # of words with -ing
        for stems, inflect, stem_stress in (
            (_stems_of_s(word), self.plural, stress),
            (_stems_of_ed(word), self.past, stress),
            (_stems_of_ing(word), self.progressive, ing_stress),
        ):
            stem = next(filter(self._is_known, stems), None)
            phonemes = self.look_up(stem, tag, stem_stress, context) if stem else None
            if phonemes and (inflected := inflect(phonemes)):
                return inflected
        return None

    @staticmethod
    def _find_entry(dictionary: Dictionary, word: str) -> Entry | None:
        """Return the entry of a word, or of the word with the other case of its first letter."""
        entry = dictionary.get(word)
        if entry is not None or len(word) < 2:
            return entry
        lower = word.lower()
        if word == lower:
            return dictionary.get(word.capitalize())
        return dictionary.get(lower) if word == lower.capitalize() else None


def _stems_of_s(word: str) -> Iterator[str]:
    if len(word) < 3 or not word.endswith("s"):
        return
    if not word.endswith("ss"):
        yield word[:-1]
    if word.endswith("'s") or (len(word) > 4 and word.endswith("es") and word[-3] != "i"):
        yield word[:-2]
    if len(word) > 4 and word.endswith("ies"):
        yield word[:-3] + "y"


def _stems_of_ed(word: str) -> Iterator[str]:
    if len(word) < 4 or not word.endswith("d"):
        return
    if not word.endswith("dd"):
        yield word[:-1]
    if len(word) > 4 and word.endswith("ed") and not word.endswith("eed"):
        yield word[:-2]


def _stems_of_ing(word: str) -> Iterator[str]:
    if len(word) < 5 or not word.endswith("ing"):
        return
    if len(word) > 5:
        yield word[:-3]
    yield word[:-3] + "e"
    if len(word) > 5 and _DOUBLED.search(word):
        yield word[:-4]


def capital_stress(word: str) -> float | None:
    """Return the stress that its capitals give a word, or None."""
    return None if word == word.lower() else _ALL_CAPITALS if word == word.upper() else _ONE_CAPITAL


def _choose(entry: Entry | None, tag: str, context: FollowingSound | None) -> str | None:
    """Return the phonemes of an entry for a part of speech; before a pause, its form "None" if it has one."""
    if entry is None or isinstance(entry, str):
        return entry
    if context is not None and context.vowel is None and "None" in entry:
        return entry["None"]
    return entry.get(tag if tag in entry else _class(tag), entry["DEFAULT"])


def _class(tag: str) -> str:
    """Return the lexicon's name for a tag: NOUN for NNS; the tag itself if it has none."""
    return next((name for start, name in _CLASSES.items() if tag.startswith(start)), tag)


def _is_abbreviation(word: str) -> bool:
    """Return whether a word is letters with points between them, one or two at a time: U.S., e.g."""
    return "." in word.strip(".") and word.replace(".", "").isalpha() and max(map(len, word.split("."))) < 3


def _without_apostrophe(word: str) -> tuple[str, ...]:
    """Return a word and its possible lexicon spellings if an apostrophe ends it."""
    if word.endswith("s'"):
        return word, word[:-2] + "'s", word[:-1]
    return (word, word[:-1]) if word.endswith("'") else (word,)
