"""Measure on held-out words how names are converted and how letters are read.

    python docs/unknown_words.py LEXICON CMUDICT [WIKTIONARY]  # prints a table

LEXICON: the folder `misaki/data`. CMUDICT: the file cmudict.dict. WIKTIONARY: American words of WikiPron
(eng_latn_us_broad.tsv), to see how far dictionaries agree. A twentieth of the stems is held out. A reading is
right if it is any of the dictionary's. Readings are equivalent if they differ at most in stress, taps and
reduced vowels.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from kokoro_tvm.model.front_end.conversion import plain_words
from kokoro_tvm.model.front_end.network_file import network_arrays, shared_network_arrays
from kokoro_tvm.model.front_end.pronunciations import convert_phones, read_cmudict
from kokoro_tvm.model.front_end.training import train, training_words
from kokoro_tvm.runtime.text.frontend.dictionary import Entry
from kokoro_tvm.runtime.text.frontend.joint_ngrams import JointNgrams
from kokoro_tvm.runtime.text.frontend.letter_network import LetterNetwork

_ENDING = re.compile(r"(?<=....)(ingly|edly|iness|ness|less|ings|ing|ers|ed|er|es|ly|s|e|y|ie)$")
_STRESS = str.maketrans("", "", "ˈˌ")
_SPELLINGS = str.maketrans({"ː": None, "ɾ": "t", "T": "t", "ʔ": "t", "ᵊ": "ə", "ᵻ": "ə", "ɐ": "ə"})
_REDUCED = frozenset("ɪʌʊ")  # without stress
_LAX = frozenset("aɛæɑɒi")  # without stress they may be reduced
_MOST = 2000  # words of a row


def is_held_out(word: str) -> bool:
    """Return whether a word belongs to the twentieth of the stems that nothing is learned from."""
    stem = _ENDING.sub("", word)
    stem = re.sub(r"(?<=...)(.)\1$", r"\1", stem)
    return hashlib.sha256(stem.encode()).digest()[0] % 20 == 0


def is_equivalent(one: str, other: str) -> bool:
    """Return whether readings differ at most in stress, taps, and vowels that one of them reduces."""
    first, second = (re.findall("([ˈˌ]?)(.)", phonemes.translate(_SPELLINGS)) for phonemes in (one, other))
    return len(first) == len(second) and all(
        a[1] == b[1] or (_reduction(*a) + _reduction(*b) > 2 and min(_reduction(*a), _reduction(*b)) > 0)
        for a, b in zip(first, second, strict=True)
    )


def _reduction(stress: str, symbol: str) -> int:
    """Return 2 for a reduced vowel, 1 for one that may be reduced, 0 for other symbols."""
    return 2 if symbol == "ə" or (not stress and symbol in _REDUCED) else int(not stress and symbol in _LAX)


def measure(label: str, expected: Mapping[str, Sequence[str]], read: Callable[[str], Sequence[str]]) -> None:
    """Print a row: words, and the share that is read right exactly, but for stress, and equivalently."""
    words = sorted(expected, key=lambda word: hashlib.sha256(word.encode()).digest())[:_MOST]
    tests: Iterable[Callable[[str, str], bool]] = (
        str.__eq__,
        lambda one, other: one.translate(_STRESS) == other.translate(_STRESS),
        is_equivalent,
    )
    readings = {word: read(word) for word in words}
    shares = [
        sum(any(test(*pair) for pair in product(readings[word], expected[word])) for word in words)
        / len(words)
        for test in tests
    ]
    print(f"| {label} | {len(words):,} | {' | '.join(f'{share:.1%}' for share in shares)} |", flush=True)


def read_wikipron(path: Path) -> dict[str, list[str]]:
    """Return words with the pronunciations of a file of WikiPron."""
    words: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        word, _, sounds = line.partition("\t")
        if word.isascii() and word.isalpha() and word != word.upper() and len(word) > 2:
            words.setdefault(word.lower(), []).append(sounds.replace(" ", ""))
    return words


def list_readings(entries: Mapping[str, Entry]) -> dict[str, list[str]]:
    """Return the words in small letters with all readings of a lexicon."""
    readings: dict[str, list[str]] = {}
    for word, entry in entries.items():
        every = [entry] if isinstance(entry, str) else [reading for reading in entry.values() if reading]
        readings.setdefault(word.lower(), []).extend(every)
    return readings


@dataclass(frozen=True)
class Split:
    """Words of one English.

    Attributes:
        lexicon: misaki's words with their phonemes.
        held_out: Those that nothing is learned from, with all their readings.
        checked: Those of the others that were checked by hand.
        converted: CMUdict's words that are not learned from the lexicon, with all their readings.
        capitals: misaki's names in small letters.
    """

    lexicon: Mapping[str, str]
    held_out: Mapping[str, Sequence[str]]
    checked: Mapping[str, str]
    converted: Mapping[str, Sequence[str]]
    capitals: frozenset[str]

    def training_words(self) -> list[tuple[str, str]]:
        """Return the words that letters are learned from, with their phonemes."""
        names = {word: readings[0] for word, readings in self.converted.items() if word not in self.lexicon}
        return training_words(
            {w: phonemes for w, phonemes in (names | dict(self.lexicon)).items() if not is_held_out(w)}
        )


def split_words(folder: Path, phones: Mapping[str, Sequence[str]], variant: str) -> Split:
    """Read the words of American ("us") or British ("gb") English."""
    gold, silver = (
        json.loads((folder / f"{variant}_{kind}.json").read_text(encoding="utf-8"))
        for kind in ("gold", "silver")
    )
    lexicon, readings = plain_words({**silver, **gold}), list_readings({**silver, **gold})
    checked = {word: phonemes for word, phonemes in plain_words(gold).items() if not is_held_out(word)}
    return Split(
        lexicon,
        {word: readings[word] for word in lexicon if is_held_out(word)},
        checked,
        convert_phones(
            phones, checked, lambda word: word in lexicon and not is_held_out(word), variant == "gb"
        ),
        frozenset(word.lower() for word in gold if word.istitle()),
    )


def main(lexicon: Path, cmudict: Path, wiktionary: Path | None = None) -> None:
    """Print the table for both Englishes."""
    phones = read_cmudict(cmudict)
    print("| held-out words | number | exact | without stress | equivalent |\n|---|---|---|---|---|")
    for variant, name in (("us", "American"), ("gb", "British")):
        measure_english(name, variant, split_words(lexicon, phones, variant), wiktionary)


def measure_english(name: str, variant: str, words: Split, wiktionary: Path | None) -> None:
    """Print the rows of one English."""
    held_out, converted = words.held_out, words.converted
    packed = train(words.training_words())
    network = LetterNetwork(
        shared_network_arrays() | network_arrays(variant, JointNgrams(packed).graphones), variant
    )
    letters = JointNgrams(packed, network)

    def read(word: str) -> list[str]:
        return [letters.read(word) or ""]

    common = {word: held_out[word] for word in held_out if word in converted}
    measure(f"{name}: ARPAbet of CMUdict", common, lambda word: converted[word][:1])
    measure(f"{name}: letters of the lexicon's words", held_out, read)
    names = {word: held_out[word] for word in held_out if word in words.capitals}
    measure(f"{name}: letters of its names", names, read)
    others = {word: converted[word] for word in converted if word not in words.lexicon and is_held_out(word)}
    measure(f"{name}: letters of CMUdict's other words", others, read)
    if wiktionary is not None and variant == "us":
        sounds = convert_phones(
            read_wikipron(wiktionary), words.checked, words.checked.__contains__, british=False
        )
        for label, dictionary in (("CMUdict", others), ("the lexicon", held_out)):
            both = {word: sounds[word] for word in dictionary if word in sounds}
            measure(f"{name}: Wiktionary, by {label}", both, dictionary.__getitem__)
            measure(f"{name}: Wiktionary, letters of the same words", both, read)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
