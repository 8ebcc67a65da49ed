"""From text to pieces, one after the other, each as soon as the text shows where it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.division import Breath, Division, breaths, halves, symbols_of, words_of
from kokoro_tvm.runtime.frontend.tokens import Utterance
from kokoro_tvm.runtime.joins import Pauses, pause_after
from kokoro_tvm.runtime.model import Floats, Model
from kokoro_tvm.runtime.notices import warn
from kokoro_tvm.runtime.passages import passages
from kokoro_tvm.runtime.phonemes import clean, has_sound, warn_of_unknown
from kokoro_tvm.runtime.plan import MARKS, Piece, Word
from kokoro_tvm.runtime.rendering import predict, with_predicted
from kokoro_tvm.runtime.routing import TooLongError
from kokoro_tvm.runtime.utterances import tokens_of

__all__ = ["Planned", "Style", "plan_pieces", "sentences_of_phonemes", "sentences_of_text"]

_FrontEnd = Callable[[str], list[Utterance]]


@dataclass(frozen=True)
class Planned:
    """A piece with known durations, and the features it was predicted from (none of silence)."""

    piece: Piece
    features: Floats | None


@dataclass(frozen=True)
class Style:
    """How to speak: the voice's table (rows, width), the speed, and what is between pieces."""

    table: Floats
    speed: float
    pauses: Pauses
    division: Division


def sentences_of_text(text: str | Iterable[str], front_end: _FrontEnd) -> Iterator[Breath]:
    """Sentences of a text as they come. Raises InputError when nothing of it can be spoken."""
    spoken, seen = False, ""
    for passage in passages(text):
        seen = seen or passage.text
        utterances = front_end(passage.text)
        for place, utterance in enumerate(utterances):
            last = place == len(utterances) - 1
            words = _stripped(words_of(utterance, passage.text, passage.start))
            if words or utterance.pause is not None:
                spoken = spoken or bool(words)
                yield Breath(words, passage.boundary if last else "sentence", utterance.pause)
    if not spoken:
        found = f"'{seen[:20]}' has no letter or digit" if seen else "the text is empty"
        raise InputError(f"There is nothing to speak: {found}.")


def sentences_of_phonemes(phonemes: Iterable[str], vocabulary: Mapping[str, int]) -> Iterator[Breath]:
    """Every string as one utterance; spans are places in the strings, joined by line breaks."""
    texts = [clean(text) for text in phonemes]
    speakable = [place for place, text in enumerate(texts) if has_sound(text, vocabulary)]
    if not speakable:
        warn_of_unknown(" ".join(texts), vocabulary)  # which raises
    start = 0
    for place, text in enumerate(texts):
        if place in speakable:
            words = words_of(Utterance(tokens_of(text)), text, start)
            yield Breath(words, "end" if place == speakable[-1] else "paragraph")
        else:
            warn(f"Left out, because the model knows none of its symbols: '{text[:40]}'")
        start += len(text) + 1


def plan_pieces(model: Model, sentences: Iterable[Breath], style: Style) -> Iterator[Planned]:
    """Pieces with durations, each as soon as its words are there and it is known whether others follow.

    Raises InputError for a part that exceeds the largest bucket and has no place to divide it at.
    """
    notices = _Notices(model.bundle.vocabulary)
    keep: int | None = None
    number = 0
    for breath in breaths(sentences, style.division):
        notices.warn(breath.words)
        for part, planned in _fitting(model, breath, style, number):
            release, pause, attack = _silence(part, style, model.bundle.sample_rate)
            piece = replace(planned.piece, keep=(keep, release), pause=pause)
            keep = attack
            number += 1
            yield replace(planned, piece=piece)


def _silence(part: Breath, style: Style, sample_rate: int) -> tuple[int | None, int, int]:
    """What `pause_after` says of the silence after a part; at the end of the text everything is kept."""
    if part.pause is not None:
        return pause_after(part.pause, sample_rate)
    if part.boundary == "end":
        return None, 0, 0
    return pause_after(style.pauses.after(part.words, part.boundary) / style.speed, sample_rate)


def _fitting(model: Model, breath: Breath, style: Style, number: int) -> Iterator[tuple[Breath, Planned]]:
    """Parts whose tokens and predicted frames fit the largest buckets, numbered from `number`."""
    waiting = [breath]
    while waiting:
        part = waiting.pop(0)
        vocabulary = model.bundle.vocabulary
        if not has_sound(symbols_of(part.words), vocabulary):
            if part.pause is not None:
                yield part, Planned(Piece((), noise=number), None)
                number += 1
            continue
        try:
            yield part, _predicted(model, part.words, style, number)
        except TooLongError as error:
            parts = halves(part)
            if parts is None:
                raise InputError(_indivisible(model, part.words, style.speed)) from error
            waiting[:0] = parts
        else:
            number += 1


def _predicted(model: Model, words: tuple[Word, ...], style: Style, number: int) -> Planned:
    row = min(max(len(symbols_of(words)) - 1, 0), len(style.table) - 1)  # as voices.style_of picks it
    vocabulary = model.bundle.vocabulary
    draft = Piece(tuple(_known(word, vocabulary) for word in words), style=row, noise=number)
    durations, features = predict(model, style.table, draft, style.speed)
    model.check_frames(durations)
    return Planned(with_predicted(draft, durations, ends=True), features)


def _known(word: Word, vocabulary: Mapping[str, int]) -> Word:
    """The word without the symbols that the model does not know; they are passed over."""
    phonemes = "".join(symbol for symbol in word.phonemes if symbol in vocabulary)
    return replace(word, phonemes=phonemes, space="".join(s for s in word.space if s in vocabulary))


def _indivisible(model: Model, words: tuple[Word, ...], speed: float) -> str:
    limits = f"{model.bundle.largest('tokens')} tokens, {model.bundle.largest('frames')} frames"
    phonemes = symbols_of(words)
    return (
        f"A part of the text exceeds the largest bucket of this bundle ({limits}) at speed {speed:g} and "
        f"cannot be divided, because it has no place to divide it at: '{phonemes[:40]}…' "
        f"({len(phonemes)} symbols). Put spaces or punctuation into it, or speak faster."
    )


def _stripped(words: tuple[Word, ...]) -> tuple[Word, ...]:
    if not words:
        return words
    return (*words[:-1], replace(words[-1], space=""))


class _Notices:
    """Names every symbol that the model does not know once in a text, and the word it is in; but for marks,
    which have no sound."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._known = {*vocabulary, *MARKS}

    def warn(self, words: tuple[Word, ...]) -> None:
        found: dict[str, str] = {}
        for word in words:
            unknown = {s for s in word.symbols if s not in self._known and not s.isspace()}
            found |= dict.fromkeys(unknown, word.text)
            self._known |= unknown
        if found:
            listed = ", ".join(f"{s!r} (U+{ord(s):04X}) in '{found[s]:.40}'" for s in sorted(found))
            warn(f"Left out, because the model does not know them: {listed}.")
