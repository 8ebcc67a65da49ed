"""A plan: everything about a speech that is known before the decoder runs.

Plans, pieces and words are frozen: an edit returns another plan.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import format_number
from kokoro_tvm.runtime.prosody import LONGEST_PAUSE
from kokoro_tvm.runtime.speech.checks import finite_number, set_field, whole_number
from kokoro_tvm.runtime.speech.fitting import stretch_pieces
from kokoro_tvm.runtime.speech.piece import MAX_FRAMES, Piece, Word
from kokoro_tvm.runtime.speech.plan_file import plan_to_json, read_plan


@dataclass(frozen=True)
class Plan:
    """A speech before synthesis: inspect, save, edit and render it.

    Attributes:
        pieces: in the order of the speech.
        voice: of pieces without their own.
        speed: for which durations are predicted.
        seed: of the noise.
        sample_rate: of the bundle, in Hz.
        samples_per_frame: of the bundle.
        mute: whether punctuation is silent; the model may put sounds there that are not in the text.

    Raises:
        InputError: a value is invalid.
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
            set_field(self, name, whole_number(getattr(self, name), name, 1, MAX_FRAMES))
        set_field(self, "seed", whole_number(self.seed, "seed of a plan", 0, (1 << 64) - 1))
        set_field(self, "speed", finite_number(self.speed, "speed of a plan"))
        if not self.speed > 0:
            raise InputError(f"The speed of a plan should be above 0, but is {self.speed!r}.")
        longest = LONGEST_PAUSE * self.sample_rate
        for place, piece in enumerate(self.pieces):
            if piece.pause > longest:
                seconds = format_number(piece.pause // self.sample_rate)
                raise InputError(
                    f"The pause after piece {place} lasts {seconds} s; {LONGEST_PAUSE} s is the longest."
                )

    @property
    def words(self) -> tuple[Word, ...]:
        """The words and marks of all pieces."""
        return tuple(word for piece in self.pieces for word in piece.words)

    @property
    def complete(self) -> bool:
        """Whether all durations are known."""
        return all(piece.complete for piece in self.pieces)

    @property
    def samples(self) -> int:
        """Exact number of samples of the speech; raises InputError if a duration is unknown."""
        return sum(piece.samples(self.samples_per_frame) for piece in self.pieces)

    @property
    def seconds(self) -> float:
        """Length of the speech in seconds; raises InputError if a duration is unknown."""
        return self.samples / self.sample_rate

    def with_piece(self, piece: int, changed: Piece) -> Plan:
        """Replace a piece by number; raises InputError."""
        place = self.check_place(piece)
        return replace(self, pieces=(*self.pieces[:place], changed, *self.pieces[place + 1 :]))

    def with_word(self, piece: int, word: int, changed: Word) -> Plan:
        """Replace a word by the numbers of its piece and of itself; raises InputError."""
        old = self.pieces[self.check_place(piece)]
        place = _index(word, old.words, f"word of piece {piece}")
        words = (*old.words[:place], changed, *old.words[place + 1 :])
        return self.with_piece(piece, replace(old, words=words))

    def with_durations(self, piece: int, word: int, frames: Sequence[int]) -> Plan:
        """Set the durations of a word, in frames per symbol; the space after it counts. Raises InputError."""
        row = _row(frames, "durations should be a row of frames")
        return self.with_word(piece, word, replace(self._word(piece, word), durations=row))

    def with_phonemes(self, piece: int, word: int, phonemes: str) -> Plan:
        """Set the phonemes of a word; rendering predicts their durations. Raises InputError."""
        return self.with_word(
            piece, word, replace(self._word(piece, word), phonemes=phonemes, durations=None)
        )

    def with_pause(self, piece: int, seconds: float) -> Plan:
        """Set the silence after a piece, in addition to its own; raises InputError."""
        value = finite_number(seconds, "pause")
        if not 0 <= value <= LONGEST_PAUSE:
            raise InputError(f"A pause should last 0 to {LONGEST_PAUSE} s, but lasts {value:g} s.")
        changed = replace(self.pieces[self.check_place(piece)], pause=round(value * self.sample_rate))
        return self.with_piece(piece, changed)

    def with_pitch(
        self, factor: float | Sequence[float], piece: int | None = None, word: int | None = None
    ) -> Plan:
        """Set the pitch.

        Args:
            factor: on the predicted pitch, or several, spread evenly over a piece.
            piece: number; None: all.
            word: number in the piece, with a single factor; None: the whole piece.

        Raises:
            InputError: a factor or a number is invalid.
        """
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
        """Stretch or shorten the plan to exactly so many samples.

        Sounds and pauses change alike, to whole frames; the last pause takes the rest.

        Raises:
            InputError: one frame per symbol is too long, or a duration is unknown.
        """
        if not self.pieces:
            raise InputError("A plan without pieces has no length.")
        length = whole_number(samples, "length of a plan in samples")
        pieces = stretch_pieces(self.pieces, length, self.sample_rate, self.samples_per_frame)
        return replace(self, pieces=pieces)

    def with_seconds(self, seconds: float) -> Plan:
        """Stretch or shorten the plan to so many seconds, see `with_samples`."""
        value = finite_number(seconds, "length of a plan")
        return self.with_samples(round(value * self.sample_rate))

    def to_json(self) -> str:
        """Return the plan as JSON, whose fields docs/runtime.md lists."""
        return plan_to_json(self, self.pieces)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Parse JSON of `to_json`, edited or not; raises InputError with the place of a mistake."""
        return read_plan(text, cls)

    def _word(self, piece: int, word: int) -> Word:
        words = self.pieces[self.check_place(piece)].words
        return words[_index(word, words, f"word of piece {piece}")]

    def check_place(self, piece: int) -> int:
        """Return the number of a piece; raises InputError if there is no such piece."""
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
