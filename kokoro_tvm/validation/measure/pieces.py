"""Compare texts of several pieces with the stock model's durations and with single utterances.

The gates compare `Synthesizer.run`, one utterance, with the stock model. A text is planned, rendered piece by
piece and joined. So every piece must have the stock model's durations, the samples that `run` returns for the
same phonemes, style and noise, and its place in the text. The places follow from the stock model's durations
and the documented pauses, by code of this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.noise import draw_noise
from kokoro_tvm.runtime import Synthesizer
from kokoro_tvm.runtime.text.phonemes import encode
from kokoro_tvm.validation.measure.gates import UtteranceReport, none_off
from kokoro_tvm.validation.measure.metrics import count_off
from kokoro_tvm.validation.reference.corpus import MARGIN
from kokoro_tvm.validation.reference.reference import Reference, frame_counts, rounding_margin

_PAUSE_S = 0.8  # from the last sound of a paragraph to the first of the next, at speed 1
_ATTACK_S = 0.150  # of the pause, kept before the first sound
_RELEASE_S = 0.050  # of the pause, kept after the last sound
_LAST_SOUND_FRAMES = 5  # of the last phoneme; the rest is silence
_FADE_S = 0.010  # at a cut end of a piece
_PROBE_SAMPLES = 256  # that identify the place of a piece

Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class JudgedText:
    """A text, given as the phonemes of its pieces, each a paragraph of its own."""

    name: str
    pieces: tuple[str, ...]
    durations: tuple[NDArray[np.int64], ...]
    """Frames of every token of each piece in the stock model in float64, boundary symbols included."""
    voice: str
    speed: float
    """At least 1: slower speech would lengthen the boundary symbols."""
    seed: int

    @property
    def frames(self) -> int:
        """Frames of all pieces."""
        return sum(int(durations.sum()) for durations in self.durations)


def choose_texts(references: Sequence[Reference]) -> list[JudgedText]:
    """Build two texts of the shortest references, or none if all are slower than speed 1."""
    candidates = sorted((r for r in references if r.speed >= 1), key=lambda r: len(r.phonemes))
    if not candidates:
        return []
    short = candidates[0]
    second = next((r for r in candidates[1:] if r.voice == short.voice), short)
    other = next((r for r in candidates if r.voice != short.voice), second)
    return [
        _build_text(
            "text of three pieces", (short, second, short), max(short.speed, second.speed), 2**32 + 4
        ),
        _build_text("text of two pieces", (other, other), 1.25 * other.speed, 5),
    ]


def _build_text(name: str, references: Sequence[Reference], speed: float, seed: int) -> JudgedText:
    """Build a text of the references' phonemes, at the first speed from `speed` on that rounds surely."""
    durations = [reference.truth.duration for reference in references]
    # At another speed than the reference's, a duration may be so near to a half that float32 rounds it
    # otherwise.
    speeds = (speed + 0.01 * step for step in count())
    speed = next(s for s in speeds if min(rounding_margin(d, s) for d in durations) >= MARGIN)
    frames = tuple(frame_counts(duration, speed) for duration in durations)
    pieces = tuple(reference.phonemes for reference in references)
    return JudgedText(name, pieces, frames, references[0].voice, speed, seed)


def judge_text(tts: Synthesizer, text: JudgedText) -> UtteranceReport:
    """Synthesize a text and judge durations, samples and pauses."""
    speech = tts.from_phonemes(list(text.pieces), voice=text.voice, speed=text.speed, seed=text.seed)
    durations = np.concatenate(text.durations)
    verdicts = [none_off("max_durations_off", count_off(speech.durations, durations), "durations")]
    if np.array_equal(speech.durations, durations):
        samples_off = pauses_off = 0.0
        end = expected_start = 0
        for piece in _cut_pieces(tts, text):
            start = piece.find(speech.audio, expected_start)
            pauses_off += abs(start - expected_start)
            samples_off += float(np.count_nonzero(speech.audio[end:start]))
            samples_off += piece.samples_off(speech.audio, start)
            end = start + piece.audio.size
            expected_start = end + piece.silence
        samples_off += abs(speech.audio.size - end)
        verdicts.append(none_off("max_samples_off", samples_off, "audio"))
        verdicts.append(none_off("max_pauses_off", pauses_off, "audio"))
    return UtteranceReport(text.name, text.frames, verdicts=tuple(verdicts))


@dataclass(frozen=True)
class _CutPiece:
    """Expected samples of a piece, the part of them without fades, and the silence that follows."""

    audio: Array
    unfaded: slice
    silence: int

    def find(self, text: Array, expected_start: int) -> int:
        """Return the start of the piece in the text nearest to `expected_start`, or that if there is none."""
        expected = self.audio[self.unfaded][:_PROBE_SAMPLES]
        windows = np.lib.stride_tricks.sliding_window_view(text, expected.size)
        candidates = np.flatnonzero(windows[:, 0] == expected[0])
        matches = candidates[(windows[candidates] == expected).all(1)] - self.unfaded.start
        return int(matches[np.abs(matches - expected_start).argmin()]) if matches.size else expected_start

    def samples_off(self, text: Array, start: int) -> float:
        """Count the samples that differ, without fades."""
        return count_off(text[start : start + self.audio.size][self.unfaded], self.audio[self.unfaded])


def _cut_pieces(tts: Synthesizer, text: JudgedText) -> Iterator[_CutPiece]:
    """Synthesize every piece as an utterance, and cut it where the pauses of the text begin and end."""
    rate = tts.bundle.sample_rate
    attack, release, fade = (round(seconds * rate) for seconds in (_ATTACK_S, _RELEASE_S, _FADE_S))
    silence = round(_PAUSE_S / text.speed * rate) - attack - release
    table = tts.voices.table(text.voice)
    last = len(text.pieces) - 1
    for number, (phonemes, frames) in enumerate(zip(text.pieces, text.durations, strict=True)):
        tokens = encode(phonemes, tts.bundle.vocabulary)
        style = np.array(table[min(len(phonemes) - 1, len(table) - 1)])
        noise = partial(draw_noise, text.seed, piece=number)
        audio = tts.run(tokens, style, speed=text.speed, noise=noise).audio
        before, after = _silent_frames(phonemes, frames)
        begin = max(0, before * tts.bundle.samples_per_frame - attack) if number else 0
        cut = max(0, after * tts.bundle.samples_per_frame - release) if number < last else 0
        piece = audio[begin : audio.size - cut]
        unfaded = slice(fade if begin else 0, piece.size - (fade if cut else 0))
        yield _CutPiece(piece, unfaded, silence if number < last else 0)


def _silent_frames(phonemes: str, frames: NDArray[np.int64]) -> tuple[int, int]:
    """Count the frames before the first sound and after the last one; `frames` has boundary symbols."""
    sounds = [place for place, symbol in enumerate(phonemes, start=1) if symbol.isalpha()]
    last = sounds[-1]
    last_sound = min(int(frames[last]), _LAST_SOUND_FRAMES)
    return int(frames[: sounds[0]].sum()), int(frames[last:].sum()) - last_sound
