"""Pieces and words of a plan: frozen values that are checked when they are created."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import truncate
from kokoro_tvm.runtime.notices import quoted
from kokoro_tvm.runtime.speech.checks import prosody_factor, set_field, whole_number

__all__ = ["CUT_FRAMES", "HALO_FRAMES", "LAST_SOUND", "MAX_FRAMES", "PAUSING_SOUND", "Piece", "Word"]

LAST_SOUND = 5
"""Maximum number of frames for which the last phoneme before a pause is heard; the rest is silence.

Measured over voices and phonemes (docs/timing.py): its sound ends 5 to 120 ms after its place in the
durations, which give it 275 to 675 ms.
"""

PAUSING_SOUND = 6
"""Minimum duration of the last phoneme of a word, in frames at speed 1, if a pause without a mark follows. Of
74 such words, 69 had a silence of 80 ms or more after them; of 1,648 others, 27 had one."""

CUT_FRAMES = 1
"""Frames before the space after a word at which an utterance is cut: the quietest place between two words, in
the median 27 dB below the speech if a voiceless stop follows (docs/lab/performance.md)."""

HALO_FRAMES = 32
"""Frames beyond a cut that are decoded but not heard. The level at the cut differs from that of uncut speech
by at most 3.2 dB, and by 6.2 dB with 8 frames (docs/lab/performance.md)."""

MAX_FRAMES = 1 << 24
"""Maximum number of frames of a symbol, above any bucket."""


@dataclass(frozen=True)
class Word:
    """A word or a punctuation mark.

    Attributes:
        text: in the source, without markup.
        start: index of its first character in the source.
        end: index after its last character.
        phonemes: known symbols of the model.
        space: symbols between it and the next word, " " or "".
        durations: frames per symbol of `phonemes + space`, at least 1; None: to be predicted.
        pitch: factor on the predicted pitch.
        rate: factor on the plan's speed for predicted durations.
        joined: whether no space is between it and the word before, apart from markup.

    Raises:
        InputError: a value is invalid.
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
                shown = truncate(repr(getattr(self, name)))
                raise InputError(f"A word's {name} should be a string, but is {shown}.")
        if self.space.strip():
            shown = truncate(repr(self.space))
            raise InputError(f"The space after {quoted(self.text)} should be spaces, but is {shown}.")
        for name in ("start", "end"):
            set_field(self, name, whole_number(getattr(self, name), f"{name} of a word"))
        start, end = self.start, self.end
        if start > end:
            raise InputError(
                f"The word {quoted(self.text)} ends at character {end}, before its start at {start}."
            )
        for name in ("pitch", "rate"):
            what = f"{name} of the word {quoted(self.text)}"
            set_field(self, name, prosody_factor(getattr(self, name), what))
        if self.durations is None:
            return
        durations = tuple(
            whole_number(d, f"duration in {quoted(self.text)}", 1, MAX_FRAMES) for d in self.durations
        )
        if len(durations) != len(self.symbols):
            raise InputError(
                f"The word {quoted(self.text)} has {len(durations)} durations for its {len(self.symbols)} "
                f"symbols {quoted(self.symbols)} (the space after it counts). "
                "Give one for each, or none (null)."
            )
        set_field(self, "durations", durations)

    @property
    def symbols(self) -> str:
        """The phonemes and the space; each symbol is a model token."""
        return self.phonemes + self.space

    @property
    def spoken(self) -> bool:
        """Whether it has a sound, unlike a mark."""
        return any(symbol.isalpha() for symbol in self.phonemes)

    @property
    def frames(self) -> int:
        """Frames of the word and its space; raises InputError if durations are unknown."""
        return sum(self.known_durations)

    @property
    def space_frames(self) -> int:
        """Frames of the space; raises InputError if durations are unknown."""
        return sum(self.known_durations[len(self.phonemes) :])

    @property
    def heard(self) -> int:
        """Frames in which it is heard if a pause follows; raises InputError if durations are unknown."""
        *others, last = self.known_durations[: len(self.phonemes)]
        return sum(others) + min(last, LAST_SOUND)

    def has_pausing_sound(self, speed: float) -> bool:
        """Return whether its last phoneme lasts so long at a plan's speed that a pause follows."""
        last = self.known_durations[len(self.phonemes) - 1]
        return last * min(1.0, speed * self.rate) >= PAUSING_SOUND

    @property
    def known_durations(self) -> tuple[int, ...]:
        """The durations; raises InputError if they are unknown."""
        if self.durations is None:
            raise InputError(
                f"How long {quoted(self.text)} lasts is not known yet: its phonemes were changed. "
                "Synthesizer.complete(plan) predicts it."
            )
        return self.durations


@dataclass(frozen=True)
class Piece:
    """An utterance of the model, or a part of one, and the silence after it; without words, silence alone.

    Attributes:
        words: in order.
        style: row of the voice's table.
        noise: number of the noise that is drawn from the seed.
        lead: frames of the mark that the model expects at the beginning of the utterance.
        tail: frames of the mark that the model expects at the end of the utterance.
        keep: samples kept of the near silence before the first sound and after the last of the utterance;
            None: all.
        pause: samples of silence after it.
        pitch: factors on the predicted pitch, spread evenly over the piece and interpolated linearly.
        voice: None: that of the plan.
        before: words of the utterance that another piece speaks before. They are computed with, not heard.
        after: words of the utterance that another piece speaks after, in the same way.

    Raises:
        InputError: a value is invalid.
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
    before: tuple[Word, ...] = ()
    after: tuple[Word, ...] = ()

    def __post_init__(self) -> None:
        for name in ("words", "before", "after"):
            set_field(self, name, tuple(getattr(self, name)))
        for name, least in (("style", 0), ("noise", 0), ("lead", 1), ("tail", 1), ("pause", 0)):
            most = None if name == "pause" else MAX_FRAMES
            set_field(self, name, whole_number(getattr(self, name), f"{name} of a piece", least, most))
        if len(self.keep) != 2:
            shown = truncate(repr(self.keep))
            raise InputError(f"A piece keeps two numbers of samples, one at either end, not {shown}.")
        what = "number of samples that a piece keeps"
        set_field(
            self,
            "keep",
            tuple(None if samples is None else whole_number(samples, what) for samples in self.keep),
        )
        set_field(self, "pitch", tuple(prosody_factor(factor, "pitch of a piece") for factor in self.pitch))
        if not self.pitch:
            raise InputError("The pitch of a piece needs at least one factor; 1.0 leaves it as predicted.")
        if self.voice is not None and (not isinstance(self.voice, str) or not self.voice):
            raise InputError(f"The voice of a piece should be a name, but is {truncate(repr(self.voice))}.")
        if (self.words or self.before or self.after) and not self.symbols:
            raise InputError("The words of a piece have no phonemes. Remove the words instead.")

    @property
    def utterance(self) -> Piece:
        """The whole utterance of the model: the piece, with the words before and after it."""
        if not (self.before or self.after):
            return self
        return replace(self, words=(*self.before, *self.words, *self.after), before=(), after=())

    @property
    def symbols(self) -> str:
        """The symbols of its words; each is a model token."""
        return "".join(word.symbols for word in self.words)

    @property
    def complete(self) -> bool:
        """Whether all durations of the utterance are known."""
        return all(word.durations is not None for word in (*self.before, *self.words, *self.after))

    @property
    def durations(self) -> tuple[int, ...]:
        """Frames of every token, at the utterance's ends with lead and tail; raises InputError if unknown."""
        frames = [duration for word in self.words for duration in word.known_durations]
        if not self.words:
            return ()
        return (*(() if self.before else (self.lead,)), *frames, *(() if self.after else (self.tail,)))

    @property
    def frames(self) -> int:
        """Frames of all tokens; raises InputError if unknown."""
        return sum(self.durations)

    def silence(self) -> tuple[int, int]:
        """Return the frames before the first sound and after the last; (0, 0) without a sound."""
        spoken = [place for place, word in enumerate(self.words) if word.spoken]
        if not spoken:
            return 0, 0
        before = sum(word.frames for word in self.words[: spoken[0]])
        last = self.words[spoken[-1]]
        after = last.frames - last.heard
        after += sum(word.frames for word in self.words[spoken[-1] + 1 :])
        return self.lead + before, after + self.tail

    def cut(self, samples_per_frame: int) -> tuple[int, int]:
        """Return the samples to cut off at both ends of the utterance."""
        before, after = (
            0 if keep is None else max(0, frames * samples_per_frame - keep)
            for frames, keep in zip(self.utterance.silence(), self.keep, strict=True)
        )
        first, last = self._span()
        if self.before:
            before = first * samples_per_frame
        if self.after:
            after = (self.utterance.frames - last) * samples_per_frame
        return before, after

    def window(self) -> tuple[int, int]:
        """Return the first frame of the utterance to decode, and the one after the last."""
        first, last = self._span()
        end = self.utterance.frames
        return max(0, first - HALO_FRAMES) if self.before else 0, min(end, last + HALO_FRAMES)

    def _span(self) -> tuple[int, int]:
        """Return the first frame of the utterance that is heard, and the one after the last."""
        first, last = 0, self.utterance.frames
        if self.before:
            first = self.lead + sum(word.frames for word in self.before)
            first -= self.before[-1].space_frames + CUT_FRAMES
        if self.after:
            last -= sum(word.frames for word in self.after) + self.tail
            last -= self.words[-1].space_frames + CUT_FRAMES
        return first, last

    def samples(self, samples_per_frame: int) -> int:
        """Return the samples of the piece in the speech, its pause included."""
        return self.utterance.frames * samples_per_frame - sum(self.cut(samples_per_frame)) + self.pause
