"""Results of a synthesis: a whole speech, or a stream of its chunks."""

from __future__ import annotations

import base64
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.runtime.session.model import Floats, Model
from kokoro_tvm.runtime.speech.piece import Piece
from kokoro_tvm.runtime.speech.plan import Plan
from kokoro_tvm.runtime.speech.planning import PlannedPiece
from kokoro_tvm.runtime.speech.rendering import Renderer, render
from kokoro_tvm.runtime.speech.resampling import resample
from kokoro_tvm.runtime.speech.wav import header, write_wav
from kokoro_tvm.runtime.speech.words import TimedWord, timeline, words_of_piece
from kokoro_tvm.runtime.stopping import CancelledError

_MAX_FEATURES = 64  # pieces planned ahead with features, 0.3 MB each; others compute them again


@dataclass(frozen=True, repr=False)
class Speech:
    """The result of a synthesis.

    Attributes:
        audio: float32 (samples,), mono; its magnitude may exceed 1.
        sample_rate: in Hz.
        durations: int64 (tokens,), in frames of 600 samples, of all tokens of all pieces, the marks at both
            ends of a piece included.
        timings: component -> wall time in seconds.
        plan: that was rendered; None from `Synthesizer.run`.
    """

    audio: NDArray[np.float32]
    sample_rate: int
    durations: NDArray[np.int64]
    timings: dict[str, float]
    plan: Plan | None = None

    @property
    def seconds(self) -> float:
        """Length of the audio."""
        return self.audio.size / self.sample_rate

    def resampled(self, sample_rate: int) -> Speech:
        """Return this speech at another sample rate, in Hz.

        Raises:
            InputError: The rate is none of 8000, 16000, 22050, 24000, 44100 and 48000, or soxr is missing.
        """
        audio = np.concatenate([*resample([self.audio], self.sample_rate, sample_rate)])
        return replace(self, audio=audio, sample_rate=sample_rate)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the audio to a float32 WAV file, whole or not at all.

        Raises:
            InputError: The file cannot be written, or its suffix is that of another format.
        """
        write_wav(Path(path), self.audio, self.sample_rate)

    def __iter__(self) -> Iterator[NDArray[np.float32] | int]:
        """Unpack as `samples, sample_rate = speech`."""
        return iter((self.audio, self.sample_rate))

    def __repr__(self) -> str:
        return f"Speech({self.seconds:.2f} s at {self.sample_rate} Hz, {len(self.words)} words)"

    def _repr_html_(self) -> str:
        """Return an audio player for notebooks."""
        samples = (np.clip(self.audio, -1.0, 1.0) * 32767).astype("<i2")
        data = base64.b64encode(header(samples.size, self.sample_rate, "<i2") + samples.tobytes()).decode()
        return f'<audio controls src="data:audio/wav;base64,{data}"></audio>'

    @property
    def timeline(self) -> tuple[TimedWord, ...]:
        """Words and marks with their times; empty without a plan."""
        return () if self.plan is None else timeline(self.plan)

    @property
    def words(self) -> tuple[TimedWord, ...]:
        """Words with their times, without marks; empty without a plan."""
        return tuple(word for word in self.timeline if word.spoken)


@dataclass(frozen=True)
class Chunk:
    """A piece of a stream.

    Attributes:
        audio: float32 (samples,), mono, with the pause after the piece; empty if the piece was skipped.
        sample_rate: in Hz.
        start: its first sample in the speech.
        piece: of the plan.
        timeline: words and marks, in samples of the speech.
        rendered: whether the piece was rendered, not skipped.
    """

    audio: NDArray[np.float32]
    sample_rate: int
    start: int
    piece: Piece
    timeline: tuple[TimedWord, ...]
    rendered: bool = True

    @property
    def words(self) -> tuple[TimedWord, ...]:
        """Words with their times, without marks."""
        return tuple(word for word in self.timeline if word.spoken)


class Stream:
    """An iterator of chunks, each planned and rendered on demand, and a context manager that closes it.

    Attributes:
        plan: voice, speed, seed and rates of the chunks; it has no pieces.
        renderer: of the following pieces.
    """

    def __init__(
        self,
        model: Model,
        table: Callable[[str | None], Floats],
        plan: Plan,
        pieces: Iterable[PlannedPiece],
        skip: int | None = 0,
    ) -> None:
        """Create a stream; `table` returns the style table of a voice; `skip` chunks have no audio."""
        self.plan = plan
        self.renderer: Renderer = render
        self._model = model
        self._pieces = iter(pieces)
        self._ahead: deque[PlannedPiece] = deque()
        self._chunks = self._render(table, skip)

    @property
    def timings(self) -> dict[str, float]:
        """Component -> wall time in seconds so far."""
        return self._model.timings

    def close(self) -> None:
        """End the stream, also from another thread, and cancel the running component."""
        self._model.stopping.stop()

    def plan_ahead(self) -> Piece | None:
        """Plan the next piece without rendering it; its chunk follows in its turn.

        Returns:
            The piece, or None at the end.

        Raises:
            InputError: as the chunks do.
        """
        try:
            planned = None if self._model.stopping.stopped else next(self._pieces, None)
        except CancelledError:
            return None
        if planned is None:
            return None
        self._ahead.append(planned if len(self._ahead) < _MAX_FEATURES else replace(planned, features=None))
        return planned.piece

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        if self._model.stopping.stopped:
            raise StopIteration
        try:
            return next(self._chunks)
        except CancelledError:
            raise StopIteration from None

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _planned(self) -> Iterator[PlannedPiece]:
        while (planned := self._ahead.popleft() if self._ahead else next(self._pieces, None)) is not None:
            yield planned

    def _render(self, table: Callable[[str | None], Floats], skip: int | None) -> Iterator[Chunk]:
        start = 0
        for number, planned in enumerate(self._planned()):
            piece, plan = planned.piece, self.plan
            rendered = skip is not None and number >= skip
            if rendered:
                audio = self.renderer(self._model, table(piece.voice), plan, piece, planned.features)
            else:
                audio = np.zeros(0, np.float32)
            words = tuple(words_of_piece(plan, piece, number, start))
            yield Chunk(audio, plan.sample_rate, start, piece, words, rendered)
            start += piece.samples(plan.samples_per_frame)
