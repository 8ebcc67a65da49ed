"""Measure on held-out words how names are converted and how letters are read.

    python docs/unknown_words.py LEXICON CMUDICT  # prints a table

LEXICON: the folder `misaki/data`. CMUDICT: the file cmudict.dict. A twentieth of the stems is held out.
Readings are equivalent if they differ at most in stress, taps and reduced vowels.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from kokoro_tvm.model.front_end.conversion import plain_words
from kokoro_tvm.model.front_end.pronunciations import convert_phones, read_cmudict
from kokoro_tvm.model.front_end.training import train, training_words
from kokoro_tvm.runtime.text.frontend.joint_ngrams import JointNgrams

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


def measure(label: str, expected: Mapping[str, str], read: Callable[[str], str | None]) -> None:
    """Print a row: words, and the share that is read right exactly, but for stress, and equivalently."""
    words = sorted(expected, key=lambda word: hashlib.sha256(word.encode()).digest())[:_MOST]
    pairs = [(read(word) or "", expected[word]) for word in words]
    tests: Iterable[Callable[[str, str], bool]] = (
        str.__eq__,
        lambda one, other: one.translate(_STRESS) == other.translate(_STRESS),
        is_equivalent,
    )
    shares = [f"{sum(test(*pair) for pair in pairs) / len(pairs):.1%}" for test in tests]
    print(f"| {label} | {len(pairs):,} | {' | '.join(shares)} |", flush=True)


def main(lexicon: Path, cmudict: Path) -> None:
    """Print the table for both Englishes."""
    phones = read_cmudict(cmudict)
    print("| held-out words | number | exact | without stress | equivalent |\n|---|---|---|---|---|")
    for variant, name in (("us", "American"), ("gb", "British")):
        gold, silver = (
            json.loads((lexicon / f"{variant}_{kind}.json").read_text(encoding="utf-8"))
            for kind in ("gold", "silver")
        )
        words = plain_words({**silver, **gold})
        learned = {word: phonemes for word, phonemes in words.items() if not is_held_out(word)}
        held_out = {word: phonemes for word, phonemes in words.items() if is_held_out(word)}
        checked = {word: phonemes for word, phonemes in plain_words(gold).items() if word in learned}
        converted = convert_phones(phones, checked, learned.__contains__)
        common = {
            word: held_out[word] for word in plain_words(gold) if word in held_out and word in converted
        }
        measure(f"{name}: ARPAbet of CMUdict", common, converted.get)
        names = {word: phonemes for word, phonemes in converted.items() if word not in words}
        unheld = {word: phonemes for word, phonemes in names.items() if not is_held_out(word)}
        letters = JointNgrams(train(training_words(learned | unheld)))
        capitals = {word.lower() for word in gold if word.istitle()}
        measure(f"{name}: letters of the lexicon's words", held_out, letters.read)
        proper = {word: phonemes for word, phonemes in held_out.items() if word in capitals}
        measure(f"{name}: letters of its names", proper, letters.read)
        others = {word: phonemes for word, phonemes in names.items() if is_held_out(word)}
        measure(f"{name}: letters of CMUdict's other words", others, letters.read)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
