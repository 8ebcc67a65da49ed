"""Is a bundle understood as well as the stock model: the word error rate of a speech recogniser on both.

What the recogniser mishears of both says nothing; what it mishears of the bundle alone does. The sentences
are from IEEE's recommended practice for speech quality measurements (1969): the Harvard sentences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.measure.gates import Report, UtteranceReport, judge

__all__ = ["SENTENCES", "VOICES", "Heard", "validate_intelligibility"]

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


def validate_intelligibility(
    heard: Sequence[Heard], limits: Mapping[str, float | None], enforce: bool = True
) -> Report:
    """Judges what a recogniser understood.

    Measured for every voice and for all together: `word_error_rate` of the bundle, `stock_word_error_rate`
    and `word_error_increase`, the first less the second. Only the last, over all voices, has a gate.
    """
    voices = [*dict.fromkeys(h.voice for h in heard), _ALL]
    outputs = {voice: _rates([h for h in heard if voice in (h.voice, _ALL)]) for voice in voices}
    verdicts = judge(outputs[_ALL], limits, _ALL)
    count = sum(len(words(h.sentence)) for h in heard)
    utterance = UtteranceReport(_NAME, count, outputs=outputs, verdicts=tuple(verdicts))
    return Report("intelligibility", None, enforce, (utterance,))


def _rates(heard: Sequence[Heard]) -> dict[str, float]:
    from jiwer import wer

    sentences, ours, stock = (
        [" ".join(words(getattr(h, side))) for h in heard] for side in ("sentence", "ours", "stock")
    )
    rate, stock_rate = wer(sentences, ours), wer(sentences, stock)
    return {
        "word_error_rate": rate,
        "stock_word_error_rate": stock_rate,
        "word_error_increase": rate - stock_rate,
    }
