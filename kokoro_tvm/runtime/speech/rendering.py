"""From a piece of a plan to its audio, exactly as long as the plan says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm import __version__
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.bundle.manifest import Bundle
from kokoro_tvm.runtime.notices import listed
from kokoro_tvm.runtime.session.model import Floats, Model, frame_durations
from kokoro_tvm.runtime.session.noise import seed_words
from kokoro_tvm.runtime.speech.checks import bound_speed
from kokoro_tvm.runtime.speech.joins import fade_in, fade_out, mute, muted
from kokoro_tvm.runtime.speech.piece import Piece
from kokoro_tvm.runtime.speech.plan import Plan
from kokoro_tvm.runtime.text.phonemes import encode

__all__ = ["Renderer", "complete", "digest_of", "predict", "render", "spoken_durations", "with_predicted"]

Renderer: TypeAlias = Callable[[Model, Floats, Plan, Piece, "Floats | None"], Floats]
"""What gives the audio of a piece: `render`, or what asks something else first."""


def spoken_durations(duration: Floats, speed: float | NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole frames per token, int64 (tokens,), as `frame_durations` says, but with ends that do not grow.

    The marks at both ends are silent where they last as long as in training; stretched by a speed below 1
    they turn into a vowel. `speed` is one for all tokens or (tokens,).
    """
    durations = frame_durations(duration, speed)
    whole = frame_durations(duration, 1.0)
    for end in (0, -1):
        durations[end] = min(durations[end], whole[end])
    return durations


def predict(model: Model, table: Floats, piece: Piece, speed: float) -> tuple[NDArray[np.int64], Floats]:
    """(frames of every token (tokens,), features `d` of the tokens) as the model would speak a piece, each
    word at its rate.

    Raises InputError for phonemes the model does not know; TooLongError, one too, for too many tokens.
    """
    duration, features = model.predict(token_ids(model, piece), table[_row(table, piece)])
    speeds = [bound_speed(speed, word.rate) for word in piece.words for _ in word.symbols]
    return spoken_durations(duration, np.array([speed, *speeds, speed])), features


def with_predicted(piece: Piece, predicted: NDArray[np.int64], ends: bool) -> Piece:
    """The piece with durations where it lacks them, and at both ends if `ends`."""
    words, place = [], 1
    for word in piece.words:
        count = len(word.symbols)
        if word.durations is None:
            word = replace(word, durations=tuple(predicted[place : place + count].tolist()))
        words.append(word)
        place += count
    lead, tail = (int(predicted[0]), int(predicted[-1])) if ends else (piece.lead, piece.tail)
    return replace(piece, words=tuple(words), lead=lead, tail=tail)


def complete(model: Model, table: Floats, piece: Piece, speed: float) -> Piece:
    """The piece with the durations it lacked, after its phonemes were changed; those that it has stay.

    Raises InputError as `predict` does.
    """
    if piece.complete:
        return piece
    predicted, _ = predict(model, table, piece, speed)
    return with_predicted(piece, predicted, ends=False)


def render(model: Model, table: Floats, plan: Plan, piece: Piece, features: Floats | None = None) -> Floats:
    """Audio float32 (samples,) of a piece with known durations, its pause included.

    `features` are those of `predict`, which are computed where they are not given.

    Raises:
        InputError: the model does not know a phoneme; TooLongError, one too, when tokens or frames exceed the
            largest bucket.
    """
    if not piece.words:
        return np.zeros(piece.pause, np.float32)
    tokens, ref_s = token_ids(model, piece), table[_row(table, piece)]
    durations = np.array(piece.durations, np.int64)
    model.check_frames(durations)
    if features is None:
        _, features = model.predict(tokens, ref_s)
    samples = piece.frames * plan.samples_per_frame
    seed = seed_words(plan.seed, piece.noise)
    audio = model.decode(tokens, ref_s, durations, features, seed, _pitch(piece))
    if plan.mute:
        mute(audio, muted(piece, plan.samples_per_frame, plan.sample_rate), plan.sample_rate)
    before, after = piece.cut(plan.samples_per_frame)
    audio = audio[before : samples - after]
    if before:
        fade_in(audio, plan.sample_rate)
    if after:
        fade_out(audio, plan.sample_rate)
    return np.concatenate([audio, np.zeros(piece.pause, np.float32)]) if piece.pause else audio


def digest_of(bundle: Bundle, table: Floats, plan: Plan, piece: Piece) -> str:
    """SHA-256 of all that decides about the audio that `render` gives, in hexadecimal.

    What decides about nothing is left out by name: whatever else a plan has, or will have, counts. Raises
    InputError for a style that the voice does not have.
    """
    words = tuple(
        replace(word, text="", start=0, end=0, rate=1.0, joined=False) for word in piece.words
    )  # a rate has decided about durations already, as the speed has
    style = np.ascontiguousarray(table[_row(table, piece)], "<f4").tobytes()
    piece = replace(piece, words=words, style=0, voice=None)
    plan = replace(plan, pieces=(piece,), voice="", speed=1.0)
    node = [__version__, bundle.sha256, style.hex(), asdict(plan)]
    return hashlib.sha256(json.dumps(node).encode()).hexdigest()


def token_ids(model: Model, piece: Piece) -> NDArray[np.int64]:
    """Token ids (1, tokens) with the 0 at both ends; raises InputError for what the model does not know."""
    unknown = sorted(set(piece.symbols) - set(model.bundle.vocabulary))
    if unknown:
        raise InputError(
            f"The plan has phonemes that the model does not know: {listed(unknown)}. "
            "Remove them, with their durations."
        )
    return np.array([encode(piece.symbols, model.bundle.vocabulary)], np.int64)


def _row(table: Floats, piece: Piece) -> int:
    if piece.style >= len(table):
        raise InputError(f"A piece of the plan has style {piece.style}, but the voice has {len(table)} rows.")
    return piece.style


def _pitch(piece: Piece) -> Floats | None:
    """Factors on f0 for every half frame (2 * frames,); None where all are 1."""
    if set(piece.pitch) == {1.0} and all(word.pitch == 1.0 for word in piece.words):
        return None
    halves = 2 * piece.frames
    places = np.linspace(0.0, 1.0, len(piece.pitch)) if len(piece.pitch) > 1 else np.zeros(1)
    curve = np.interp(np.linspace(0.0, 1.0, halves), places, piece.pitch)
    place = 2 * piece.lead
    for word in piece.words:
        count = 2 * word.frames
        curve[place : place + count] *= word.pitch
        place += count
    return curve.astype(np.float32)
