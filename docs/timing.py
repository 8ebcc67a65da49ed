"""Measures times, joins and pauses of a bundle on the waveform, beside utterances joined as stock does.

.venv/bin/python docs/timing.py [BUNDLE]
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.runtime import Plan, Synthesizer
from kokoro_tvm.runtime.speech.joins import muted_spans
from kokoro_tvm.runtime.text.phonemes import encode

Floats = NDArray[np.float32]

TEXTS = {
    "af_heart": "The cat sat on the mat. It was late, and the lights were out! What now? Nobody knew.",
    "am_michael": "He read the books, which were hers. Fresh fruit, vegetables; and fish. She said so.",
    "bf_emma": "She said that he would go. Pay at the desk, then leave. How dear you are!",
    "ef_dora": "El perro come pan, y el gato duerme. Mañana vamos al mercado. ¿Quieres venir?",
    "ff_siwis": "Le chat dort sur la chaise, et le chien mange. Demain il fera beau. Tu viens?",
    "if_sara": "Il gatto dorme, e il cane mangia. Domani andiamo al mercato. Vuoi venire?",
}
_HOP = 120  # samples: 5 ms
_LEVEL = -35.0  # dB below what is loud; quieter is silence
_LEAST = 0.12  # seconds; a shorter silence may be the closure of a stop


@dataclass(frozen=True)
class Timing:
    """One text. errors: by how much each silence reaches into a word, seconds; stray: silences that lie in a
    word; gaps: (requested, heard) seconds at each join; stock: the gap there where utterances are joined as
    they are; step: the greatest difference between two samples at a join, of the peak."""

    voice: str
    errors: tuple[float, ...]
    stray: int
    gaps: tuple[tuple[float, float], ...]
    stock: tuple[float, ...]
    step: float


def silences(audio: Floats, rate: int, least: float = _LEAST) -> list[tuple[float, float]]:
    """(start, end) in seconds of every silence."""
    quiet = np.concatenate([[False], decibels(audio) < _LEVEL, [False]])
    edges = np.flatnonzero(np.diff(quiet.astype(np.int8))) * _HOP / rate
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a >= least]


def decibels(audio: Floats, loud: float | None = None) -> Floats:
    """Level of every 5 ms, relative to the 95th percentile or to `loud`."""
    count = audio.size // _HOP
    power = np.sqrt((audio[: count * _HOP].reshape(count, _HOP) ** 2).mean(1)) + 1e-9
    return 20 * np.log10(power / (np.percentile(power, 95) if loud is None else loud))


def measure(tts: Synthesizer, voice: str, text: str, speed: float = 1.0) -> Timing:
    """Times and joins of one text."""
    speech = tts(text, voice=voice, speed=speed)
    plan, audio, rate = speech.plan, speech.audio, speech.sample_rate
    assert plan is not None
    words = speech.words
    errors, stray = [], 0
    found = silences(audio, rate)
    for start, end in found:
        if start == 0 or end >= audio.size / rate - 2 * _HOP / rate:
            continue
        after = next((n for n, word in enumerate(words) if word.start > (start + end) / 2), len(words))
        before, following = words[after - 1], words[min(after, len(words) - 1)]
        into = max(before.end - start, end - following.start)
        if before.start < start and end < before.end:
            stray += 1
        else:
            errors.append(into)
    gaps, stock, step, place = [], [], 0.0, 0
    raw = [_raw(tts, plan, number) for number in range(len(plan.pieces))]
    for number, (piece, following) in enumerate(zip(plan.pieces, plan.pieces[1:], strict=False)):
        place += piece.samples(plan.samples_per_frame)
        requested = ((piece.keep[1] or 0) + piece.pause + (following.keep[0] or 0)) / rate
        at = place / rate
        heard = next(((a, b) for a, b in found if a - 0.05 <= at <= b + 0.05), (at, at))
        gaps.append((requested, heard[1] - heard[0]))
        stock.append(_tail(raw[number], rate) + _head(raw[number + 1], rate))
        for joint in (place, place - piece.pause):
            step = max(step, float(np.abs(np.diff(audio[joint - 3 : joint + 3])).max()))
    return Timing(voice, tuple(errors), stray, tuple(gaps), tuple(stock), step / float(np.abs(audio).max()))


def ends_at_speed(tts: Synthesizer, voice: str, text: str, speed: float) -> tuple[float, float]:
    """Loudest level before the first word, dB: with the ends as the plan has them, and as stock has them."""
    plan = replace(tts.plan(text, voice=voice, speed=speed), mute=False)
    ours = tts.render(plan, [0])
    stock = _raw(tts, plan, 0)
    first = plan.pieces[0]
    table = tts.voices.table(voice)
    tokens = [encode(first.symbols, tts.bundle.vocabulary)]
    lead = int(tts.run(tokens, np.array(table[first.style]), speed=speed).durations[0])
    margin = 4 * plan.samples_per_frame
    loud = float(np.percentile(np.abs(ours.audio), 95))
    sides = ((ours.audio, first.lead), (stock, lead))
    before, after = (
        decibels(a[: frames * plan.samples_per_frame - margin], loud).max() for a, frames in sides
    )
    return float(before), float(after)


def below_marks(tts: Synthesizer, voice: str, text: str) -> tuple[float, float]:
    """Loudest level below marks, dB: as the model gives it, and as it is muted."""
    plan = tts.plan(text, voice=voice)
    levels = []
    for mute in (False, True):
        worst = -180.0
        for piece in plan.pieces:
            whole = replace(plan, pieces=(replace(piece, keep=(None, None), pause=0),), mute=mute)
            audio = tts.render(whole).audio
            loud = float(np.percentile(np.abs(audio), 95))
            for start, end in muted_spans(piece, plan.samples_per_frame, plan.sample_rate):
                inside = audio[start + 240 : end - 240]
                if inside.size > _HOP:
                    worst = max(worst, float(decibels(inside, loud).max()))
        levels.append(worst)
    return levels[0], levels[1]


def _raw(tts: Synthesizer, plan: Plan, number: int) -> Floats:
    """A piece as `forward_with_tokens` gives it."""
    piece = plan.pieces[number]
    tokens = [encode(piece.symbols, tts.bundle.vocabulary)]
    return tts.run(tokens, np.array(tts.voices.table(plan.voice)[piece.style]), speed=plan.speed).audio


def _head(audio: Floats, rate: int) -> float:
    return float(np.flatnonzero(decibels(audio) >= _LEVEL)[0] * _HOP / rate)


def _tail(audio: Floats, rate: int) -> float:
    return _head(audio[::-1].copy(), rate)


def report(tts: Synthesizer, texts: Iterable[tuple[str, str]]) -> Sequence[Timing]:
    """Prints a line for each text."""
    rows = []
    for voice, text in texts:
        row = measure(tts, voice, text)
        rows.append(row)
        shown = " ".join(
            f"{requested:.2f}/{heard:.2f}/{raw:.2f}"
            for (requested, heard), raw in zip(row.gaps, row.stock, strict=True)
        )
        worst = max(row.errors, default=0.0) * 1000
        print(
            f"{voice}: {len(row.errors)} silences, at most {worst:.0f} ms inside a word, {row.stray} stray; "
            f"gaps requested/heard/stock {shown} s; steps {row.step:.4f}",
            flush=True,
        )
        slow, stock = ends_at_speed(tts, voice, text, 0.6)
        given, silent = below_marks(tts, voice, text)
        print(f"  before the first word at speed 0.6: {slow:.0f} dB, stock {stock:.0f} dB", flush=True)
        print(f"  below marks: {given:.0f} dB, muted {silent:.0f} dB", flush=True)
    return rows


if __name__ == "__main__":
    report(Synthesizer(Path(sys.argv[1] if len(sys.argv) > 1 else "artifacts/cpu")), TEXTS.items())
