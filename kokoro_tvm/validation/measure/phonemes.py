"""Compare the front end with misaki: words and phonemes that differ.

The phoneme error rate is the edit distance by the length of the reference. Stress marks, punctuation and
spaces count as symbols, because they change the speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import permutations
from typing import Any

from kokoro_tvm.model.front_end.homograph_file import read_homographs
from kokoro_tvm.runtime.text.frontend.alphabet import PRIMARY, SECONDARY, restress
from kokoro_tvm.runtime.text.frontend.lexicon import capital_stress
from kokoro_tvm.runtime.text.frontend.tokens import Token
from kokoro_tvm.validation.measure.gates import Report, UtteranceReport, judge
from kokoro_tvm.validation.reference.phonemes import ReferenceWord

_MAX_DIFFERENCES = 200  # in a report


@dataclass(frozen=True)
class SentenceReading:
    """A sentence as misaki (`reference`) and our front end read it."""

    sentence: str
    reference: Sequence[ReferenceWord]
    ours: Sequence[Token]
    british: bool = False


@dataclass(frozen=True)
class IntendedDifference:
    """An intended difference from misaki.

    Attributes:
        pattern: Regular expression of the sentences that the gate skips, or None for single words.
        example: A text.
        reference: Misaki's reading of it.
        ours: Our reading.
        reason: Why ours is right.
        source: Who says so.
    """

    pattern: str | None
    example: str
    reference: str
    ours: str
    reason: str
    source: str


INTENDED: tuple[IntendedDifference, ...] = (
    IntendedDifference(
        r"[0-9][0-9,]{36,}",
        "1000000000000000000000000000000000000",
        "no phonemes: an error is raised",
        "one zero zero zero ...",
        "A number without a name is read figure by figure.",
        "misaki 0.9.4, en.py: num2words has no name for it",
    ),
    IntendedDifference(
        r"\b[A-Z]+\W+[A-Z]{2,}\b|\b[A-Z]{2,}\W+[A-Z]+\b",
        "LET US GO",
        "lˈɛt jˌuˈɛs ɡˌO",
        "lˈɛt ˌʌs ɡˌO",
        "Words in capitals among words in capitals are the same words as in small letters.",
        "The lexicon, whose entry for US is a word but as a noun",
    ),
    IntendedDifference(
        None,
        "I read it yesterday",
        "ɹˈid",
        "ɹˈɛd",
        "A word of two readings may have either: which is measured on sentences that people have labelled.",
        "Gorman, Mazovetskiy and Nikolaev, LREC 2018: WikipediaHomographData",
    ),
    IntendedDifference(
        None,
        "Schoenbaum",
        "ʃˌOənbˈWm",
        "ʃˈOnbWm",
        "A word that misaki leaves to espeak-ng is read as a pronunciation dictionary has it.",
        "The CMU Pronouncing Dictionary",
    ),
)
"""Intended differences, which docs/text.md lists."""


@dataclass(frozen=True)
class WordDifference:
    """Words of a sentence with two readings; `known` if misaki did not guess all of them."""

    sentence: str
    word: str
    reference: str
    ours: str
    known: bool


@dataclass(frozen=True)
class PhonemesReport:
    """Verdicts, and the differences of each English."""

    report: Report
    differences: Mapping[str, Sequence[WordDifference]]

    def require(self) -> None:
        """Raise ValidationError if a gate was missed and gates are enforced."""
        self.report.require()

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data, with the first differences."""
        shown = {
            name: [vars(difference) for difference in differences[:_MAX_DIFFERENCES]]
            for name, differences in self.differences.items()
        }
        return self.report.to_json() | {"differences": shown}


def judge_phonemes(
    readings: Mapping[str, Sequence[SentenceReading]],
    limits: Mapping[str, float | None],
    enforce: bool = True,
) -> PhonemesReport:
    """Judge the sentences of each English.

    Besides `known_word_errors` and `phoneme_error_rate`, the report has `passed_over` (sentences that match a
    pattern of INTENDED) and `other_readings` (homographs with the other reading, and words of CMUdict
    that misaki guesses; they are no errors).
    """
    utterances, differences = [], {}
    patterns = [difference.pattern for difference in INTENDED if difference.pattern is not None]
    for name, sentences in readings.items():
        comparable = [s for s in sentences if not any(re.search(p, s.sentence) for p in patterns)]
        judged = [_without_other_readings(s) for s in comparable]
        errors = [difference for s in judged for difference in _find_differences(s)]
        edits = sum(edit_distance(_join_phonemes(s.reference), _join_phonemes(s.ours)) for s in judged)
        symbols = sum(len(_join_phonemes(s.reference)) for s in judged)
        unknown = sum(word.guessed for s in judged for word in s.reference)
        measured: dict[str, float] = {
            "known_word_errors": sum(difference.known for difference in errors),
            "phoneme_error_rate": edits / symbols if symbols else float("nan"),
            "words": sum(len(s.reference) for s in judged),
            "unknown_words": unknown,
            "unknown_word_errors": sum(not difference.known for difference in errors),
            "symbols": symbols,
            "passed_over": len(sentences) - len(judged),
            "other_readings": sum(
                len(s.ours) - len(rest.ours) for s, rest in zip(comparable, judged, strict=True)
            ),
        }
        verdicts = tuple(judge(measured, limits))
        utterances.append(
            UtteranceReport(name, len(judged), outputs={"phonemes": measured}, verdicts=verdicts)
        )
        differences[name] = errors
    return PhonemesReport(Report("phonemes", None, enforce, tuple(utterances)), differences)


def edit_distance(reference: str, ours: str) -> int:
    """Compute the Levenshtein distance of two strings."""
    prefix = _common_prefix(reference, ours)
    reference, ours = reference[prefix:], ours[prefix:]
    suffix = _common_prefix(reference[::-1], ours[::-1])
    reference, ours = reference[: len(reference) - suffix], ours[: len(ours) - suffix]
    row = list(range(len(ours) + 1))
    for i, expected in enumerate(reference, start=1):
        above, row[0] = row[0], i
        for j, symbol in enumerate(ours, start=1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (expected != symbol))
    return row[-1]


def _common_prefix(first: str, second: str) -> int:
    """Count the equal characters at the beginning of two strings."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(first), len(second)))


def _without_other_readings(read: SentenceReading) -> SentenceReading:
    """Remove words that may be read differently from both readings."""
    matcher = SequenceMatcher(
        None, [w.text for w in read.reference], [w.text for w in read.ours], autojunk=False
    )
    theirs, mine = set(), set()
    for first, second, count in matcher.get_matching_blocks():
        for i, k in zip(range(first, first + count), range(second, second + count), strict=True):
            if _is_other_reading(read.reference[i], read.ours[k], read.british):
                theirs.add(i)
                mine.add(k)
    return replace(
        read,
        reference=[word for i, word in enumerate(read.reference) if i not in theirs],
        ours=[token for k, token in enumerate(read.ours) if k not in mine],
    )


def _is_other_reading(reference: ReferenceWord, ours: Token, british: bool) -> bool:
    """Check whether a word is a homograph with another reading, maybe in a compound, or one of CMUdict."""
    if reference.phonemes == ours.phonemes or reference.space != ours.space:
        return False
    if ours.origin == "names":
        return reference.guessed
    variant, homographs = "gb" if british else "us", read_homographs()
    if (named := homographs.get(ours.text.lower())) is not None:
        stress = capital_stress(ours.text)
        return ours.phonemes in {restress(reading[variant], stress) for reading in named.values()}
    for part in re.split(r"[^a-z]+", ours.text.lower()):
        variants = [_strip_stress(reading[variant]) for reading in homographs.get(part, {}).values()]
        for theirs, mine in permutations(variants, 2):
            if _strip_stress(reference.phonemes).replace(theirs, mine) == _strip_stress(ours.phonemes):
                return True
    return False


def _strip_stress(phonemes: str) -> str:
    """Remove the stress marks."""
    return phonemes.replace(PRIMARY, "").replace(SECONDARY, "")


def _join_phonemes(words: Sequence[ReferenceWord] | Sequence[Token]) -> str:
    """Join the phonemes of words, with the spaces after them."""
    return "".join(word.phonemes + word.space for word in words).strip()


def _find_differences(read: SentenceReading) -> Iterator[WordDifference]:
    """Yield the words with different readings; a run of differently divided words counts once."""
    reference, ours = read.reference, read.ours
    matcher = SequenceMatcher(None, [w.text for w in reference], [w.text for w in ours], autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind != "equal":
            yield _describe_difference(read.sentence, reference[i:j], ours[k:m])
            continue
        for theirs, mine in zip(reference[i:j], ours[k:m], strict=True):
            if (theirs.phonemes, theirs.space) != (mine.phonemes, mine.space):
                yield _describe_difference(read.sentence, [theirs], [mine])


def _describe_difference(
    sentence: str, reference: Sequence[ReferenceWord], ours: Sequence[Token]
) -> WordDifference:
    """Describe words that the two read differently."""
    # Whether we guessed does not count: a word that only we do not know is an error.
    known = not reference or any(not word.guessed for word in reference)
    text = " ".join(word.text for word in reference or ours)
    return WordDifference(sentence, text, _join_phonemes(reference), _join_phonemes(ours), known)
