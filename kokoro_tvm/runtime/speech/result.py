"""What a synthesis gives: all of a speech at once, or chunks of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.runtime.speech.piece import Piece
from kokoro_tvm.runtime.speech.plan import Plan
from kokoro_tvm.runtime.speech.words import TimedWord, timeline

__all__ = ["Chunk", "Speech"]


@dataclass(frozen=True)
class Speech:
    """The result of a synthesis.

    `audio` is float32 (samples,) at `sample_rate` Hz and may exceed 1 in magnitude; `durations` is int64
    (tokens,) in frames of 600 samples, for every token including the marks at both ends (of a text in several
    pieces, piece after piece); `timings` is the wall time in seconds per component, summed over pieces;
    `plan` is what was rendered, None of `Synthesizer.run`.
    """

    audio: NDArray[np.float32]
    sample_rate: int
    durations: NDArray[np.int64]
    timings: dict[str, float]
    plan: Plan | None = None

    @property
    def timeline(self) -> tuple[TimedWord, ...]:
        """Words and marks with their times; empty without a plan."""
        return () if self.plan is None else timeline(self.plan)

    @property
    def words(self) -> tuple[TimedWord, ...]:
        """Words with their times, the marks left out; empty without a plan."""
        return tuple(word for word in self.timeline if word.spoken)


@dataclass(frozen=True)
class Chunk:
    """One piece of a stream.

    `audio` is float32 (samples,) at `sample_rate` Hz, with the pause after it, and begins at sample `start`
    of the speech; `timeline` has its words and marks, in samples of the speech. A piece that was skipped is
    not `rendered`, and its audio is empty.
    """

    audio: NDArray[np.float32]
    sample_rate: int
    start: int
    piece: Piece
    timeline: tuple[TimedWord, ...]
    rendered: bool = True

    @property
    def words(self) -> tuple[TimedWord, ...]:
        """Words with their times, the marks left out."""
        return tuple(word for word in self.timeline if word.spoken)
