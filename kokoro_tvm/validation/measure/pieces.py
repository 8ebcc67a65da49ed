"""Texts of several pieces: durations, styles, noise and pauses, held against single utterances (numpy only).

`Synthesizer.run` is what the stock model's `forward_with_tokens` is, and the gates hold it against the stock
model in float64. A text goes another way: it is planned, rendered piece by piece and joined. So every piece
must have, bit for bit, the durations and the audio that `run` gives for the same phonemes with that piece's
style and noise, and the sound of two pieces must be as far apart as the pause between them says. What `run`
is given here, and the pauses, follow from the phonemes by code of this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from kokoro_tvm.kernels.noise import draw_noise
from kokoro_tvm.runtime import Speech, Synthesizer
from kokoro_tvm.runtime.speech.piece import Piece
from kokoro_tvm.runtime.speech.plan import Plan
from kokoro_tvm.runtime.text.phonemes import encode
from kokoro_tvm.validation.measure.gates import UtteranceReport, none_off
from kokoro_tvm.validation.measure.metrics import count_off
from kokoro_tvm.validation.reference.reference import Reference

__all__ = ["JudgedText", "judge_text", "texts_of"]

_PAUSE_S = 0.8  # between utterances that are paragraphs of their own, at speed 1
_FADE_S = 0.010  # at either end of a piece


@dataclass(frozen=True)
class JudgedText:
    """A text that is given as the phonemes of its pieces. speed: 1 or more, below which ends do not grow."""

    name: str
    pieces: tuple[str, ...]
    voice: str
    speed: float
    seed: int


def texts_of(references: Sequence[Reference]) -> list[JudgedText]:
    """Return two texts of the shortest references, or none if all are slower than speed 1."""
    candidates = sorted((r for r in references if r.speed >= 1), key=lambda r: len(r.phonemes))
    if not candidates:
        return []
    short = candidates[0]
    second = next((r for r in candidates[1:] if r.voice == short.voice), short)
    other = next((r for r in candidates if r.voice != short.voice), second)
    pieces = short.phonemes, second.phonemes, short.phonemes
    return [
        JudgedText("text of three pieces", pieces, short.voice, max(short.speed, second.speed), 2**32 + 4),
        JudgedText("text of two pieces", (other.phonemes,) * 2, other.voice, 1.25 * other.speed, 5),
    ]


def judge_text(tts: Synthesizer, text: JudgedText) -> UtteranceReport:
    """Speak a text and judge every piece of it by `Synthesizer.run`."""
    spoken = tts.from_phonemes(list(text.pieces), voice=text.voice, speed=text.speed, seed=text.seed)
    alone = [_speak_alone(tts, text, number) for number in range(len(text.pieces))]
    plan = spoken.plan
    assert plan is not None
    durations = np.concatenate([speech.durations for speech in alone])
    verdicts = [none_off("max_durations_off", count_off(spoken.durations, durations), "durations")]
    if len(plan.pieces) == len(alone) and np.array_equal(spoken.durations, durations):
        samples_off, begin = 0.0, 0
        for piece, speech in zip(plan.pieces, alone, strict=True):
            samples_off += _samples_off(spoken.audio[begin:], speech.audio, piece, plan)
            begin += piece.samples(plan.samples_per_frame)
        due = round(_PAUSE_S / text.speed * plan.sample_rate)
        pauses_off = sum(abs(_pause(*two) - due) for two in pairwise(plan.pieces))
        verdicts.append(none_off("max_samples_off", samples_off + abs(begin - spoken.audio.size), "audio"))
        verdicts.append(none_off("max_pauses_off", float(pauses_off), "audio"))
    return UtteranceReport(text.name, int(durations.sum()), verdicts=tuple(verdicts))


def _speak_alone(tts: Synthesizer, text: JudgedText, number: int) -> Speech:
    """One piece as an utterance, with the noise that it has in the text."""
    phonemes = text.pieces[number]
    tokens = encode(phonemes, tts.bundle.vocabulary)
    table = tts.voices.table(text.voice)
    style = np.array(table[min(len(phonemes) - 1, len(table) - 1)])
    return tts.run(tokens, style, speed=text.speed, noise=partial(draw_noise, text.seed, piece=number))


def _samples_off(text: np.ndarray, alone: np.ndarray, piece: Piece, plan: Plan) -> float:
    """How many samples of a piece, which begins `text`, are not those of the utterance, fades left out."""
    before, after = piece.cut(plan.samples_per_frame)
    fade = round(_FADE_S * plan.sample_rate)
    expected = alone[before : alone.size - after]
    first, last = fade if before else 0, expected.size - (fade if after else 0)
    silence = text[expected.size : expected.size + piece.pause]
    return count_off(text[first:last], expected[first:last]) + float(np.count_nonzero(silence))


def _pause(before: Piece, after: Piece) -> int:
    """Samples from the last sound of a piece to the first of the next."""
    return (before.keep[1] or 0) + before.pause + (after.keep[0] or 0)
