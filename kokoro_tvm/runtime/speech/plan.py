"""A plan: everything about a speech that is known before the decoder runs, to look at, save, edit and render.

Frozen, as its pieces are: an edit makes another plan.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.prosody import LONGEST_PAUSE
from kokoro_tvm.runtime.speech.checks import finite_number, set_field, whole_number
from kokoro_tvm.runtime.speech.fitting import fitted
from kokoro_tvm.runtime.speech.piece import MOST_FRAMES, Piece, Word
from kokoro_tvm.runtime.speech.plan_file import read_plan, written_plan

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """Pieces in the order they are spoken, in a voice, with a seed for the noise.

    `speed` is what the durations were predicted for. `mute`: silence below the marks, where the model may put
    sounds that are not in the text. Rates are the bundle's.
    """

    pieces: tuple[Piece, ...]
    voice: str
    speed: float = 1.0
    seed: int = 0
    sample_rate: int = 24_000
    samples_per_frame: int = 600
    mute: bool = True

    def __post_init__(self) -> None:
        set_field(self, "pieces", tuple(self.pieces))
        for name in ("sample_rate", "samples_per_frame"):
            set_field(self, name, whole_number(getattr(self, name), name, 1, MOST_FRAMES))
        set_field(self, "seed", whole_number(self.seed, "seed of a plan", 0, (1 << 64) - 1))
        set_field(self, "speed", finite_number(self.speed, "speed of a plan"))
        if not self.speed > 0:
            raise InputError(f"The speed of a plan should be above 0, but is {self.speed!r}.")
        longest = LONGEST_PAUSE * self.sample_rate
        for place, piece in enumerate(self.pieces):
            if piece.pause > longest:
                raise InputError(
                    f"The pause after piece {place} lasts {piece.pause / self.sample_rate:.0f} s; "
                    f"{LONGEST_PAUSE} s is the longest."
                )

    @property
    def words(self) -> tuple[Word, ...]:
        """The words and marks of all pieces."""
        return tuple(word for piece in self.pieces for word in piece.words)

    @property
    def complete(self) -> bool:
        """Whether all durations are known, and with them the number of samples."""
        return all(piece.complete for piece in self.pieces)

    @property
    def samples(self) -> int:
        """Samples of the speech, exactly; raises InputError while a duration is not known."""
        return sum(piece.samples(self.samples_per_frame) for piece in self.pieces)

    @property
    def seconds(self) -> float:
        """`samples` in seconds."""
        return self.samples / self.sample_rate

    def with_piece(self, piece: int, changed: Piece) -> Plan:
        """Another piece in the place of number `piece`."""
        place = self.check_place(piece)
        return replace(self, pieces=(*self.pieces[:place], changed, *self.pieces[place + 1 :]))

    def with_word(self, piece: int, word: int, changed: Word) -> Plan:
        """Another word in the place of number `word` of number `piece`."""
        old = self.pieces[self.check_place(piece)]
        place = _index(word, old.words, f"word of piece {piece}")
        words = (*old.words[:place], changed, *old.words[place + 1 :])
        return self.with_piece(piece, replace(old, words=words))

    def with_durations(self, piece: int, word: int, frames: Sequence[int]) -> Plan:
        """A word whose symbols, the space after it included, last these frames."""
        row = _row(frames, "durations should be a row of frames")
        return self.with_word(piece, word, replace(self._word(piece, word), durations=row))

    def with_phonemes(self, piece: int, word: int, phonemes: str) -> Plan:
        """A word spoken otherwise; how long its symbols last is predicted when the plan is rendered."""
        return self.with_word(
            piece, word, replace(self._word(piece, word), phonemes=phonemes, durations=None)
        )

    def with_pause(self, piece: int, seconds: float) -> Plan:
        """Another silence after a piece, on top of what the piece keeps of its own."""
        value = finite_number(seconds, "pause")
        if not 0 <= value <= LONGEST_PAUSE:
            raise InputError(f"A pause should last 0 to {LONGEST_PAUSE} s, but lasts {value:g} s.")
        changed = replace(self.pieces[self.check_place(piece)], pause=round(value * self.sample_rate))
        return self.with_piece(piece, changed)

    def with_pitch(
        self, factor: float | Sequence[float], piece: int | None = None, word: int | None = None
    ) -> Plan:
        """Another pitch: a factor or a curve of them, of one piece or of all; a factor for a single word."""
        what = "pitch should be a factor or a row of them"
        curve = (factor,) if isinstance(factor, Real) else _row(factor, what)
        if word is not None:
            if piece is None or len(curve) != 1:
                raise InputError("The pitch of a word needs the number of its piece and a single factor.")
            return self.with_word(piece, word, replace(self._word(piece, word), pitch=curve[0]))
        chosen = range(len(self.pieces)) if piece is None else (self.check_place(piece),)
        pieces = [replace(p, pitch=curve) if i in chosen else p for i, p in enumerate(self.pieces)]
        return replace(self, pieces=tuple(pieces))

    def with_samples(self, samples: int) -> Plan:
        """The plan stretched or shortened until it lasts exactly so many samples.

        Sounds and pauses change alike, to whole frames; the last pause takes what is less than a frame.
        Raises InputError when one frame for every symbol is too long.
        """
        if not self.pieces:
            raise InputError("A plan without pieces has no length.")
        length = whole_number(samples, "length of a plan in samples")
        pieces = fitted(self.pieces, length, self.sample_rate, self.samples_per_frame)
        return replace(self, pieces=pieces)

    def with_seconds(self, seconds: float) -> Plan:
        """`with_samples` for a length in seconds, to the nearest sample."""
        value = finite_number(seconds, "length of a plan")
        return self.with_samples(round(value * self.sample_rate))

    def to_json(self) -> str:
        """The plan as JSON that `from_json` reads; docs/runtime.md lists the fields."""
        return written_plan(self, self.pieces)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that `to_json` wrote, edited or not; raises InputError with the place of a mistake."""
        return read_plan(text, cls)

    def _word(self, piece: int, word: int) -> Word:
        words = self.pieces[self.check_place(piece)].words
        return words[_index(word, words, f"word of piece {piece}")]

    def check_place(self, piece: int) -> int:
        """The number of a piece; raises InputError where there is none of that number."""
        return _index(piece, self.pieces, "piece of the plan")


def _index(number: Any, items: Sequence[Any], what: str) -> int:
    try:
        place = operator.index(number)
    except TypeError:
        place = -1
    if not 0 <= place < len(items):
        raise InputError(f"There is no {what} with number {number!r}; they go from 0 to {len(items) - 1}.")
    return place


def _row(values: Any, what: str) -> tuple[Any, ...]:
    if not isinstance(values, Iterable):
        raise InputError(f"The {what}, but is {values!r}.")
    return tuple(values)
