"""A plan: everything about a speech that is known before the decoder runs, to look at, save, edit and render.

Frozen values, of Python's own numbers whatever they were made of. What makes no sense is refused when it is
made, so an edit that goes wrong fails at once.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.prosody import FACTORS, LONGEST_PAUSE
from kokoro_tvm.words import show_number

__all__ = ["LAST_SOUND", "Piece", "Plan", "Word"]

LAST_SOUND = 5
"""Frames that the last phoneme before a pause is heard at most; what it lasts longer is silence.

Measured over voices and phonemes (docs/timing.py): its sound ends 5 to 120 ms after its place in the
durations, which give it 275 to 675 ms.
"""

_MOST_FRAMES = 1 << 24  # of one symbol, above any bucket


@dataclass(frozen=True)
class Word:
    """A word or a mark with the frames each of its symbols lasts.

    text: as it stands in the source, without markup; start, end: its characters there; phonemes: symbols
    that the model knows; space: the symbols between it and the next word, " " or ""; durations: frames for
    each symbol of `phonemes + space`, at least 1, or None where the model has still to predict them; pitch:
    factor on the predicted pitch; rate: how much faster than the plan's speed it is spoken where durations
    are predicted; joined: whether the text, without its markup, has no space between it and the word before.
    """

    text: str
    start: int
    end: int
    phonemes: str
    space: str = ""
    durations: tuple[int, ...] | None = None
    pitch: float = 1.0
    rate: float = 1.0
    joined: bool = False

    def __post_init__(self) -> None:
        for name in ("text", "phonemes", "space"):
            if not isinstance(getattr(self, name), str):
                raise InputError(f"A word's {name} should be a string, but is {getattr(self, name)!r}.")
        if self.space.strip():
            raise InputError(f"The space after '{self.text}' should be spaces, but is {self.space!r}.")
        for name in ("start", "end"):
            _set(self, name, _whole(getattr(self, name), f"{name} of a word"))
        start, end = self.start, self.end
        if start > end:
            raise InputError(f"The word '{self.text}' ends at character {end}, before its start at {start}.")
        for name in ("pitch", "rate"):
            _set(self, name, _factor(getattr(self, name), f"{name} of the word '{self.text}'"))
        if self.durations is None:
            return
        durations = tuple(_whole(d, f"duration in '{self.text}'", 1, _MOST_FRAMES) for d in self.durations)
        if len(durations) != len(self.symbols):
            raise InputError(
                f"The word '{self.text}' has {len(durations)} durations for its {len(self.symbols)} symbols "
                f"'{self.symbols}' (the space after it counts). Give one for each, or none (null)."
            )
        _set(self, "durations", durations)

    @property
    def symbols(self) -> str:
        """The phonemes and the space after them: one model token each."""
        return self.phonemes + self.space

    @property
    def spoken(self) -> bool:
        """Whether it has a sound; a mark has none."""
        return any(symbol.isalpha() for symbol in self.phonemes)

    @property
    def frames(self) -> int:
        """Frames it lasts with the space after it; raises InputError while durations are not known."""
        return sum(self.known_durations)

    @property
    def space_frames(self) -> int:
        """Frames of the space after it."""
        return sum(self.known_durations[len(self.phonemes) :])

    @property
    def heard(self) -> int:
        """Frames from its first sound to its last, where a pause follows: LAST_SOUND of the last phoneme."""
        *others, last = self.known_durations[: len(self.phonemes)]
        return sum(others) + min(last, LAST_SOUND)

    @property
    def known_durations(self) -> tuple[int, ...]:
        """The durations; raises InputError while they are not known."""
        if self.durations is None:
            raise InputError(
                f"How long '{self.text}' lasts is not known yet: its phonemes were changed. "
                "Synthesizer.complete(plan) predicts it."
            )
        return self.durations


@dataclass(frozen=True)
class Piece:
    """Words that the model speaks as one utterance, and the silence after them; without words, silence alone.

    style: row of the voice's table; noise: which of the seed's noises it draws; lead, tail: frames of the
    marks that the model expects at both ends; keep: samples that stay of the near silence before the first
    sound and after the last, None for all of it; pause: samples of silence after it; pitch: factors on the
    predicted pitch, spread evenly over the piece with straight lines between them (one factor: all of it);
    voice: None for the plan's.
    """

    words: tuple[Word, ...]
    style: int = 0
    noise: int = 0
    lead: int = 1
    tail: int = 1
    keep: tuple[int | None, int | None] = (None, None)
    pause: int = 0
    pitch: tuple[float, ...] = (1.0,)
    voice: str | None = None

    def __post_init__(self) -> None:
        _set(self, "words", tuple(self.words))
        for name, least in (("style", 0), ("noise", 0), ("lead", 1), ("tail", 1), ("pause", 0)):
            most = None if name == "pause" else _MOST_FRAMES
            _set(self, name, _whole(getattr(self, name), f"{name} of a piece", least, most))
        if len(self.keep) != 2:
            raise InputError(f"A piece keeps two numbers of samples, one at either end, not {self.keep!r}.")
        what = "number of samples that a piece keeps"
        _set(self, "keep", tuple(None if samples is None else _whole(samples, what) for samples in self.keep))
        _set(self, "pitch", tuple(_factor(factor, "pitch of a piece") for factor in self.pitch))
        if not self.pitch:
            raise InputError("The pitch of a piece needs at least one factor; 1.0 leaves it as predicted.")
        if self.voice is not None and (not isinstance(self.voice, str) or not self.voice):
            raise InputError(f"The voice of a piece should be a name, but is {self.voice!r}.")
        if self.words and not self.symbols:
            raise InputError("The words of a piece have no phonemes. Remove the words instead.")

    @property
    def symbols(self) -> str:
        """The symbols of all words, one model token each."""
        return "".join(word.symbols for word in self.words)

    @property
    def complete(self) -> bool:
        """Whether all durations are known."""
        return all(word.durations is not None for word in self.words)

    @property
    def durations(self) -> tuple[int, ...]:
        """Frames of every model token, the marks at both ends included; raises InputError where unknown."""
        frames = [duration for word in self.words for duration in word.known_durations]
        return (self.lead, *frames, self.tail) if self.words else ()

    @property
    def frames(self) -> int:
        """Frames that the decoder computes."""
        return sum(self.durations)

    def silence(self) -> tuple[int, int]:
        """Frames before the first sound and after the last; (0, 0) for a piece of marks alone."""
        spoken = [place for place, word in enumerate(self.words) if word.spoken]
        if not spoken:
            return 0, 0
        before = sum(word.frames for word in self.words[: spoken[0]])
        last = self.words[spoken[-1]]
        after = last.frames - last.heard
        after += sum(word.frames for word in self.words[spoken[-1] + 1 :])
        return self.lead + before, after + self.tail

    def cut(self, samples_per_frame: int) -> tuple[int, int]:
        """Samples cut off at both ends of what the decoder gives."""
        cuts = (
            0 if keep is None else max(0, frames * samples_per_frame - keep)
            for frames, keep in zip(self.silence(), self.keep, strict=True)
        )
        before, after = cuts
        return before, after

    def samples(self, samples_per_frame: int) -> int:
        """Samples it is in the speech, with the pause after it."""
        return self.frames * samples_per_frame - sum(self.cut(samples_per_frame)) + self.pause


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
        _set(self, "pieces", tuple(self.pieces))
        for name in ("sample_rate", "samples_per_frame"):
            _set(self, name, _whole(getattr(self, name), name, 1, _MOST_FRAMES))
        _set(self, "seed", _whole(self.seed, "seed of a plan", 0, (1 << 64) - 1))
        _set(self, "speed", _number(self.speed, "speed of a plan"))
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
        words = self.pieces[self.check_place(piece)].words
        place = _index(word, words, f"word of piece {piece}")
        words = (*words[:place], changed, *words[place + 1 :])
        return self.with_piece(piece, replace(self.pieces[self.check_place(piece)], words=words))

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
        value = _number(seconds, "pause")
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
        from kokoro_tvm.runtime.speech.fitting import fitted

        if not self.pieces:
            raise InputError("A plan without pieces has no length.")
        return fitted(self, _whole(samples, "length of a plan in samples"))

    def with_seconds(self, seconds: float) -> Plan:
        """`with_samples` for a length in seconds, to the nearest sample."""
        value = _number(seconds, "length of a plan")
        return self.with_samples(round(value * self.sample_rate))

    def to_json(self) -> str:
        """The plan as JSON that `from_json` reads; docs/runtime.md lists the fields."""
        from kokoro_tvm.runtime.speech.plan_file import plan_to_node

        return json.dumps(plan_to_node(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that `to_json` wrote, edited or not; raises InputError with the place of a mistake."""
        from kokoro_tvm.runtime.speech.plan_file import plan_from_json

        return plan_from_json(text)

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


def _set(thing: Word | Piece | Plan, name: str, value: Any) -> None:
    object.__setattr__(thing, name, value)  # which is frozen


def _whole(value: Any, what: str, least: int = 0, most: int | None = None) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"The {what} should be a whole number, but is {value!r}.") from None
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        limits = f"{least} or more" if most is None else f"within {least}..{most}"
        raise InputError(f"The {what} should be {limits}, but is {show_number(value)}.")
    return number


def _number(value: Any, what: str) -> float:
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"The {what} should be a finite number, but is {show_number(value)}.")
    return number


def _factor(value: Any, what: str) -> float:
    low, high = FACTORS
    factor = _number(value, what)
    if not low <= factor <= high:
        raise InputError(f"The {what} should be a factor from {low} to {high}, but is {show_number(value)}.")
    return factor
