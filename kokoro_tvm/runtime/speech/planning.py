"""Planning: sentences to pieces with durations, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import truncate
from kokoro_tvm.runtime.notices import quoted, warn
from kokoro_tvm.runtime.prosody import MARKS
from kokoro_tvm.runtime.session.model import Floats, Model
from kokoro_tvm.runtime.session.routing import TooLongError
from kokoro_tvm.runtime.speech.checks import SPEEDS, bound_speed
from kokoro_tvm.runtime.speech.division import (
    Breath,
    Division,
    cut_piece,
    divide_sentences,
    halves,
    symbols_of,
)
from kokoro_tvm.runtime.speech.joins import ATTACK, Pauses, split_pause
from kokoro_tvm.runtime.speech.piece import Piece, Word
from kokoro_tvm.runtime.speech.rendering import predict, with_predicted
from kokoro_tvm.runtime.text.phonemes import has_sound


@dataclass(frozen=True)
class PlannedPiece:
    """A piece with durations, and the features of its tokens (None for silence)."""

    piece: Piece
    features: Floats | None


@dataclass(frozen=True)
class Style:
    """Parameters of a request.

    Attributes:
        table: function from a voice, or None for the request's, to its style table (rows, width).
        speed: factor.
        pauses: between pieces.
        division: into pieces.
    """

    table: Callable[[str | None], Floats]
    speed: float
    pauses: Pauses
    division: Division

    def __post_init__(self) -> None:
        for name, kind in (("pauses", Pauses), ("division", Division)):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise InputError(f"{name} should be {kind.__name__}(…), but is {value!r}.")


def plan_pieces(model: Model, sentences: Iterable[Breath], style: Style) -> Iterator[PlannedPiece]:
    """Yield pieces with durations, each as soon as the next sentence has begun.

    Raises:
        InputError: a part exceeds the largest bucket and cannot be divided, or no phoneme is known.
    """
    notices = _Notices(model.bundle.vocabulary, style.speed)
    keep: int | None = None
    number = 0
    spoken = False
    rate = model.bundle.sample_rate
    first_frames = style.division.first_s * rate / model.bundle.samples_per_frame
    for breath in divide_sentences(sentences, style.division):
        notices.warn(breath.words)
        for part, planned in _split_to_fit(model, breath, style):
            parts: tuple[Piece, ...]
            if planned.piece.words:
                release, pause, attack = _silence(part, style, rate)
                piece = replace(planned.piece, keep=(keep, release), pause=pause, voice=part.voice)
                keep = attack
                parts = (piece,) if spoken else cut_piece(piece, first_frames, style.speed)
                spoken = True
            else:
                pause = round((part.pause or 0.0) * rate)
                if keep is None:  # before the first sound, whose piece keeps a part of the silence
                    keep = min(pause, round(ATTACK * rate))
                    pause -= keep
                parts = (replace(planned.piece, pause=pause),)
            for piece in parts:
                yield replace(planned, piece=replace(piece, noise=number))
                number += 1
    if not spoken:
        raise InputError("There is nothing to speak: the model knows none of the text's phonemes.")


def _silence(part: Breath, style: Style, sample_rate: int) -> tuple[int | None, int, int]:
    """Divide the silence after a part as `split_pause` does; at the end of the text, all is kept."""
    if part.pause is not None:
        release, pause, attack = split_pause(part.pause, sample_rate)
        return (release, pause + attack, 0) if part.boundary == "end" else (release, pause, attack)
    if part.boundary == "end":
        return None, 0, 0
    seconds = style.pauses.after(part.words, part.boundary) / bound_speed(style.speed, part.words[-1].rate)
    return split_pause(seconds, sample_rate)


def _split_to_fit(model: Model, breath: Breath, style: Style) -> Iterator[tuple[Breath, PlannedPiece]]:
    """Yield parts that fit the largest buckets, with their plans."""
    queue = [breath]
    while queue:
        part = queue.pop(0)
        vocabulary = model.bundle.vocabulary
        if not has_sound(symbols_of(part.words), vocabulary):
            if part.pause is not None:
                yield part, PlannedPiece(Piece(()), None)
            continue
        try:
            yield part, _plan_part(model, part, style)
        except TooLongError as error:
            parts = halves(part)
            if parts is None:
                raise InputError(_indivisible(model, part.words, style.speed)) from error
            queue[:0] = parts


def _plan_part(model: Model, part: Breath, style: Style) -> PlannedPiece:
    words, table = part.words, style.table(part.voice)
    row = min(max(len(symbols_of(words)) - 1, 0), len(table) - 1)  # as voices.style_of
    vocabulary = model.bundle.vocabulary
    draft = Piece(tuple(_drop_unknown(word, vocabulary) for word in words), style=row)
    durations, features = predict(model, table, draft, style.speed)
    model.check_frames(durations)
    return PlannedPiece(with_predicted(draft, durations, ends=True), features)


def _drop_unknown(word: Word, vocabulary: Mapping[str, int]) -> Word:
    """Return a word without unknown symbols."""
    phonemes = "".join(symbol for symbol in word.phonemes if symbol in vocabulary)
    return replace(word, phonemes=phonemes, space="".join(s for s in word.space if s in vocabulary))


def _indivisible(model: Model, words: tuple[Word, ...], speed: float) -> str:
    limits = f"{model.bundle.largest('tokens')} tokens, {model.bundle.largest('frames')} frames"
    phonemes = symbols_of(words)
    return (
        f"A part of the text exceeds the largest bucket of this bundle ({limits}) at speed {speed:g} and "
        f"cannot be divided, because it has no place to divide it at: '{truncate(phonemes)}' "
        f"({len(phonemes)} symbols). Put spaces or punctuation into it, or speak faster."
    )


class _Notices:
    """Warnings of a request: each unknown symbol once, except marks, and the first rate beyond the limits."""

    def __init__(self, vocabulary: Mapping[str, int], speed: float) -> None:
        self._known = {*vocabulary, *MARKS}
        self._speed = speed
        self._bounded = False

    def warn(self, words: tuple[Word, ...]) -> None:
        """Warn about the next words."""
        for word in words if not self._bounded else ():
            if bound_speed(self._speed, word.rate) != self._speed * word.rate:
                self._bounded = True
                low, high = SPEEDS
                warn(
                    f"Rate times speed is beyond what the model can say, {low:g} to {high:g}, and is kept "
                    f"within it from {quoted(word.text)} on."
                )
                break
        words_of: dict[str, str] = {}
        for word in words:
            unknown = {s for s in word.symbols if s not in self._known and not s.isspace()}
            words_of |= dict.fromkeys(unknown, word.text)
            self._known |= unknown
        if words_of:
            listed = ", ".join(f"{s!r} (U+{ord(s):04X}) in {quoted(words_of[s])}" for s in sorted(words_of))
            warn(f"Left out, because the model does not know them: {listed}.")
