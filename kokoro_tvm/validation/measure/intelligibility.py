"""Compare the word error rates of a speech recogniser on a bundle and on the stock model.

Only errors on the bundle alone count. The sentences are the Harvard sentences, from IEEE's recommended
practice for speech quality measurements (1969).
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

SENTENCES: tuple[str, ...] = tuple(
    json.loads(Path(__file__).with_name("harvard.json").read_text(encoding="utf-8"))
)
VOICES = ("af_heart", "am_michael", "bf_emma", "bm_george")
"""Voices of Kokoro-82M: women and men, American and British."""
_ALL = "all"
_NAME = "harvard"


@dataclass(frozen=True)
class Transcript:
    """One sentence in one voice, as the recogniser understood the bundle and the stock model."""

    voice: str
    sentence: str
    ours: str
    stock: str


def english_voices(names: Iterable[str], languages: Mapping[str, SpokenLanguage]) -> tuple[str, ...]:
    """Choose a woman's and a man's voice of each English that a bundle has, preferably VOICES.

    Args:
        names: The bundle's voices.
        languages: The bundle's languages.

    Raises:
        InputError: No voice speaks English.
    """
    first = next(iter(languages))
    voices: dict[tuple[str, str], str] = {}
    for name in sorted(names, key=lambda name: (name not in VOICES, name)):
        voice = describe(name, languages)
        code = voice.code if voice.code in languages else first
        language = languages[code]
        if language in (KOKORO["a"], KOKORO["b"]) or (language.espeak or "").startswith("en"):
            voices.setdefault((code, voice.gender), name)
    if not voices:
        available = ", ".join(language.name for language in languages.values())
        raise InputError(
            f"Sentences and recogniser of the gate `intelligibility` are English, and the bundle speaks "
            f"{available}. Leave the gate out."
        )
    return tuple(voices.values())


def split_words(text: str) -> list[str]:
    """Split a text into words, in lower case, with no punctuation but apostrophes within words."""
    return re.findall(r"[a-z0-9]+(?:'[a-z]+)*", text.lower().replace("’", "'"))


def validate_intelligibility(
    transcripts: Sequence[Transcript], limits: Mapping[str, float | None], enforce: bool = True
) -> Report:
    """Judge the increase of the word error rate over all voices; rates of single voices are reported, too."""
    voices = [*dict.fromkeys(t.voice for t in transcripts), _ALL]
    outputs = {
        voice: _compute_rates([t for t in transcripts if voice in (t.voice, _ALL)]) for voice in voices
    }
    verdicts = judge(outputs[_ALL], limits, _ALL)
    count = sum(len(split_words(t.sentence)) for t in transcripts)
    utterance = UtteranceReport(_NAME, count, outputs=outputs, verdicts=tuple(verdicts))
    return Report("intelligibility", None, enforce, (utterance,))


def _compute_rates(transcripts: Sequence[Transcript]) -> dict[str, float]:
    """Return the word error rates of bundle and stock model, and their difference."""
    from jiwer import wer

    sentences, ours, stock = (
        [" ".join(split_words(getattr(t, side))) for t in transcripts]
        for side in ("sentence", "ours", "stock")
    )
    rate, stock_rate = wer(sentences, ours), wer(sentences, stock)
    return {
        "word_error_rate": rate,
        "stock_word_error_rate": stock_rate,
        "word_error_increase": rate - stock_rate,
    }
