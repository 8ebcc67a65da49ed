"""The front end against misaki: how many words it reads otherwise, and how many phonemes.

The phoneme error rate is that of speech recognition: the edits (one symbol in place of another, one too many,
one missing) that turn our string into the reference's, by the reference's length. Stress marks, punctuation
and spaces count as symbols, because the model hears them.
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

__all__ = [
    "BETTER",
    "IntendedDifference",
    "PhonemesReport",
    "Read",
    "WordDifference",
    "distance",
    "judge_phonemes",
]

_MOST_SHOWN = 200  # differences in a report


@dataclass(frozen=True)
class Read:
    """A sentence as both read it."""

    sentence: str
    reference: Sequence[ReferenceWord]
    ours: Sequence[Token]
    british: bool = False


@dataclass(frozen=True)
class IntendedDifference:
    """A case in which we read otherwise than misaki on purpose.

    concerns: regular expression of the sentences that the gate passes over, None where it judges single
    words. example: a text with how misaki reads it and how we do; reason, source: why ours is right, and who
    says so.
    """

    concerns: str | None
    example: str
    reference: str
    ours: str
    reason: str
    source: str


BETTER: tuple[IntendedDifference, ...] = (
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
)
"""docs/text.md lists them."""


@dataclass(frozen=True)
class WordDifference:
    """Words of a sentence that both read, and how; known: whether misaki needed no guess for one."""

    sentence: str
    word: str
    reference: str
    ours: str
    known: bool


@dataclass(frozen=True)
class PhonemesReport:
    """The verdicts, and the first differences of each English."""

    report: Report
    differences: Mapping[str, Sequence[WordDifference]]

    def require(self) -> None:
        """Raise ValidationError unless the gates were met or only report."""
        self.report.require()

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        shown = {
            name: [vars(difference) for difference in found[:_MOST_SHOWN]]
            for name, found in self.differences.items()
        }
        return self.report.to_json() | {"differences": shown}


def judge_phonemes(
    read: Mapping[str, Sequence[Read]], limits: Mapping[str, float | None], enforce: bool = True
) -> PhonemesReport:
    """Judge what was read of each English, by its name.

    Measured: `known_word_errors`, `phoneme_error_rate`, and for information `words`, `unknown_words`,
    `unknown_word_errors`, `symbols`, `passed_over` (sentences that one of BETTER concerns) and
    `other_readings` (words of two readings for which we choose the other; they are no errors).
    """
    utterances, differences = [], {}
    for name, sentences in read.items():
        patterns = [better.concerns for better in BETTER if better.concerns is not None]
        comparable = [one for one in sentences if not any(re.search(p, one.sentence) for p in patterns)]
        judged = [_without_other_readings(one) for one in comparable]
        found = [difference for one in judged for difference in _differences(one)]
        edits = sum(distance(_symbols(one.reference), _symbols(one.ours)) for one in judged)
        symbols = sum(len(_symbols(one.reference)) for one in judged)
        unknown = sum(word.guessed for one in judged for word in one.reference)
        measured: dict[str, float] = {
            "known_word_errors": sum(difference.known for difference in found),
            "phoneme_error_rate": edits / symbols if symbols else float("nan"),
            "words": sum(len(one.reference) for one in judged),
            "unknown_words": unknown,
            "unknown_word_errors": sum(not difference.known for difference in found),
            "symbols": symbols,
            "passed_over": len(sentences) - len(judged),
            "other_readings": sum(
                len(one.ours) - len(left.ours) for one, left in zip(comparable, judged, strict=True)
            ),
        }
        verdicts = tuple(judge(measured, limits))
        utterances.append(
            UtteranceReport(name, len(judged), outputs={"phonemes": measured}, verdicts=verdicts)
        )
        differences[name] = found
    return PhonemesReport(Report("phonemes", None, enforce, tuple(utterances)), differences)


def distance(reference: str, ours: str) -> int:
    """Levenshtein's distance of two strings."""
    same = _common(reference, ours)
    reference, ours = reference[same:], ours[same:]
    same = _common(reference[::-1], ours[::-1])
    reference, ours = reference[: len(reference) - same], ours[: len(ours) - same]
    row = list(range(len(ours) + 1))
    for i, wanted in enumerate(reference, start=1):
        above, row[0] = row[0], i
        for j, got in enumerate(ours, start=1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (wanted != got))
    return row[-1]


def _common(one: str, other: str) -> int:
    """How many symbols both begin with."""
    return next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _without_other_readings(read: Read) -> Read:
    """What is left when words of two readings are taken out of both where each has one of them."""
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
    """Whether they differ by the reading of a word of two, which may be part of a compound."""
    if reference.phonemes == ours.phonemes or reference.space != ours.space:
        return False
    variant, known = "gb" if british else "us", read_homographs()
    if (named := known.get(ours.text.lower())) is not None:
        stress = capital_stress(ours.text)
        return ours.phonemes in {restress(spoken[variant], stress) for spoken in named.values()}
    for part in re.split(r"[^a-z]+", ours.text.lower()):
        spoken_ways = [_bare(spoken[variant]) for spoken in known.get(part, {}).values()]
        for one, other in permutations(spoken_ways, 2):
            if _bare(reference.phonemes).replace(one, other) == _bare(ours.phonemes):
                return True
    return False


def _bare(phonemes: str) -> str:
    return phonemes.replace(PRIMARY, "").replace(SECONDARY, "")


def _symbols(words: Sequence[ReferenceWord] | Sequence[Token]) -> str:
    return "".join(word.phonemes + word.space for word in words).strip()


def _differences(read: Read) -> Iterator[WordDifference]:
    """Words that are read otherwise; those cut otherwise count once."""
    reference, ours = read.reference, read.ours
    matcher = SequenceMatcher(None, [w.text for w in reference], [w.text for w in ours], autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind != "equal":
            yield _difference(read.sentence, reference[i:j], ours[k:m])
            continue
        for theirs, mine in zip(reference[i:j], ours[k:m], strict=True):
            if (theirs.phonemes, theirs.space) != (mine.phonemes, mine.space):
                yield _difference(read.sentence, [theirs], [mine])


def _difference(sentence: str, reference: Sequence[ReferenceWord], ours: Sequence[Token]) -> WordDifference:
    # Whether we guessed does not count: a word that we alone do not find is an error.
    known = not reference or any(not word.guessed for word in reference)
    text = " ".join(word.text for word in reference or ours)
    return WordDifference(sentence, text, _symbols(reference), _symbols(ours), known)
