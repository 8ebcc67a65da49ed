"""Is a bundle understood as well as the stock model: the word error rate of a speech recogniser on both.

What the recogniser mishears of both says nothing; what it mishears of the bundle alone does. The sentences
are from IEEE's recommended practice for speech quality measurements (1969): the Harvard sentences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.validate.gates import Report, UtteranceReport, judge
from kokoro_tvm.validate.recogniser import MISSING

__all__ = ["SENTENCES", "VOICES", "Heard", "validate_intelligibility", "word_errors"]

SENTENCES: tuple[str, ...] = tuple(
    json.loads(Path(__file__).with_name("harvard.json").read_text(encoding="utf-8"))
)
VOICES = ("af_heart", "am_michael", "bf_emma", "bm_george")
"""Women and men, American and British."""
_ALL = "all"
_NAME = "harvard"


@dataclass(frozen=True)
class Heard:
    """One sentence in one voice: how the recogniser understood the bundle and the stock model."""

    voice: str
    sentence: str
    ours: str
    stock: str


def words(text: str) -> list[str]:
    """Lower case, no punctuation but the apostrophe within a word."""
    return re.findall(r"[a-z0-9]+(?:'[a-z]+)*", text.lower().replace("’", "'"))


def word_errors(said: str, heard: str) -> int:
    """Words to insert, delete or replace to make of `heard` what was `said`, at least (Levenshtein)."""
    reference, hypothesis = words(said), words(heard)
    row = list(range(len(hypothesis) + 1))
    for i, wanted in enumerate(reference, start=1):
        diagonal, row[0] = row[0], i
        for j, found in enumerate(hypothesis, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (wanted != found))
    return row[-1]


def validate_intelligibility(
    heard: Iterable[Heard] | None, limits: Mapping[str, float | None], enforce: bool = True
) -> Report:
    """Judges what was understood; `heard` None: there was no recogniser, so the gate was not run.

    Measured for every voice and for all together: `word_error_rate` of the bundle, `stock_word_error_rate`
    and `word_error_increase`, the first less the second. Only the last, over all voices, has a gate.
    """
    if heard is None:
        return Report("intelligibility", None, enforce, (UtteranceReport(_NAME, 0, reason=MISSING),))
    told = list(heard)
    voices = [*dict.fromkeys(h.voice for h in told), _ALL]
    outputs = {voice: _rates([h for h in told if voice in (h.voice, _ALL)]) for voice in voices}
    verdicts = judge(outputs[_ALL], limits, _ALL)
    count = sum(len(words(h.sentence)) for h in told)
    return Report(
        "intelligibility",
        None,
        enforce,
        (UtteranceReport(_NAME, count, outputs=outputs, verdicts=tuple(verdicts)),),
    )


def _rates(heard: Sequence[Heard]) -> dict[str, float]:
    count = sum(len(words(h.sentence)) for h in heard)
    ours = sum(word_errors(h.sentence, h.ours) for h in heard) / count
    stock = sum(word_errors(h.sentence, h.stock) for h in heard) / count
    return {"word_error_rate": ours, "stock_word_error_rate": stock, "word_error_increase": ours - stock}
