"""What a synthesis gives: all of a speech at once, or chunks of it, each planned and rendered when it is
requested."""

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
from kokoro_tvm.runtime.speech.planning import Planned
from kokoro_tvm.runtime.speech.rendering import Renderer, render
from kokoro_tvm.runtime.speech.wav import header, write_wav
from kokoro_tvm.runtime.speech.words import TimedWord, timeline, words_of_piece
from kokoro_tvm.runtime.stopping import Stopped

__all__ = ["Chunk", "Speech", "Stream"]

_KEPT = 64  # pieces planned ahead whose features are kept, 0.3 MB each; of others they are computed again


@dataclass(frozen=True, repr=False)
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
    def seconds(self) -> float:
        """Length of the audio."""
        return self.audio.size / self.sample_rate

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


class Stream:
    """An iterator of chunks, and a context manager that closes it; the first `skip` have no audio.

    `plan` has no pieces; it says voice, speed, seed and rates of all chunks. `timings` is the wall time in
    seconds per component so far. `renderer` gives the audio of the pieces that follow.
    """

    def __init__(
        self,
        model: Model,
        table: Callable[[str | None], Floats],
        plan: Plan,
        pieces: Iterable[Planned],
        skip: int | None = 0,
    ) -> None:
        """table: the style table of a piece's voice."""
        self.plan = plan
        self.renderer: Renderer = render
        self._model = model
        self._pieces = iter(pieces)
        self._ahead: deque[Planned] = deque()
        self._chunks = self._render(table, skip)

    @property
    def timings(self) -> dict[str, float]:
        """Wall time in seconds per component so far."""
        return self._model.timings

    def close(self) -> None:
        """End the stream, from any thread, the component that runs included; no chunk follows."""
        self._model.stopping.stop()

    def plan_ahead(self) -> Piece | None:
        """Plan one piece more than are planned; its chunk comes in its turn. None where none follows.

        To know the length of everything before its first sound. Raises InputError as the chunks do.
        """
        try:
            planned = None if self._model.stopping.stopped else next(self._pieces, None)
        except Stopped:
            return None
        if planned is None:
            return None
        self._ahead.append(planned if len(self._ahead) < _KEPT else replace(planned, features=None))
        return planned.piece

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        if self._model.stopping.stopped:
            raise StopIteration
        try:
            return next(self._chunks)
        except Stopped:
            raise StopIteration from None

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _planned(self) -> Iterator[Planned]:
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
