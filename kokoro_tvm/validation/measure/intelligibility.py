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

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.bundle.languages import KOKORO, SpokenLanguage
from kokoro_tvm.runtime.bundle.voices import describe
from kokoro_tvm.validation.measure.gates import Report, UtteranceReport, judge

__all__ = ["SENTENCES", "VOICES", "Heard", "english_voices", "validate_intelligibility"]

SENTENCES: tuple[str, ...] = tuple(
    json.loads(Path(__file__).with_name("harvard.json").read_text(encoding="utf-8"))
)
VOICES = ("af_heart", "am_michael", "bf_emma", "bm_george")
"""Those of Kokoro-82M: women and men, American and British."""
_ALL = "all"
_NAME = "harvard"


@dataclass(frozen=True)
class Heard:
    """One sentence in one voice: how the recogniser understood the bundle and the stock model."""

    voice: str
    sentence: str
    ours: str
    stock: str


def english_voices(names: Iterable[str], languages: Mapping[str, SpokenLanguage]) -> tuple[str, ...]:
    """Voices of a bundle that say the sentences: a woman's and a man's of each English, VOICES where it has
    them. languages: the bundle's.

    Raises InputError where none speaks English.
    """
    first = next(iter(languages))
    chosen: dict[tuple[str, str], str] = {}
    for name in sorted(names, key=lambda name: (name not in VOICES, name)):
        about = describe(name, languages)
        code = about.code if about.code in languages else first
        language = languages[code]
        if language in (KOKORO["a"], KOKORO["b"]) or (language.espeak or "").startswith("en"):
            chosen.setdefault((code, about.gender), name)
    if not chosen:
        spoken = ", ".join(language.name for language in languages.values())
        raise InputError(
            f"Sentences and recogniser of the gate `intelligibility` are English, and the bundle speaks "
            f"{spoken}. Leave the gate out."
        )
    return tuple(chosen.values())


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
