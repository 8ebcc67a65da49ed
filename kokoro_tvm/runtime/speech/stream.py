"""A speech chunk by chunk: each piece is planned and rendered when it is requested."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from types import TracebackType

import numpy as np

from kokoro_tvm.runtime.session.model import Floats, Model
from kokoro_tvm.runtime.speech.piece import Piece
from kokoro_tvm.runtime.speech.plan import Plan
from kokoro_tvm.runtime.speech.planning import Planned
from kokoro_tvm.runtime.speech.rendering import Renderer, render
from kokoro_tvm.runtime.speech.result import Chunk
from kokoro_tvm.runtime.speech.words import words_of_piece
from kokoro_tvm.runtime.stopping import Stopped

__all__ = ["Stream"]

_KEPT = 64  # pieces planned ahead whose features are kept, 0.3 MB each; of others they are computed again


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
        self._model.stop()

    def plan_ahead(self) -> Piece | None:
        """Plan one piece more than are planned; its chunk comes in its turn. None where none follows.

        To know the length of everything before its first sound. Raises InputError as the chunks do.
        """
        try:
            planned = None if self._model.stopped else next(self._pieces, None)
        except Stopped:
            return None
        if planned is None:
            return None
        self._ahead.append(planned if len(self._ahead) < _KEPT else replace(planned, features=None))
        return planned.piece

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        if self._model.stopped:
            raise StopIteration
        try:
            return next(self._chunks)
        except Stopped:
            raise StopIteration from None

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
