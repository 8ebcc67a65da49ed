"""Rendering: a piece of a plan to its audio."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import islice
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
from kokoro_tvm.runtime.speech.joins import fade_in, fade_out, mute, muted_spans
from kokoro_tvm.runtime.speech.piece import Piece, Word
from kokoro_tvm.runtime.speech.plan import Plan
from kokoro_tvm.runtime.text.phonemes import encode

__all__ = ["Renderer", "complete", "digest_of", "predict", "render", "round_durations", "with_predicted"]

Renderer: TypeAlias = Callable[[Model, Floats, Plan, Piece, "Floats | None"], Floats]
"""Returns the audio of a piece: `render`, or a cache in front of it."""


def round_durations(duration: Floats, speed: float | NDArray[np.float64]) -> NDArray[np.int64]:
    """Return `frame_durations`, but do not stretch the marks at both ends.

    The marks are silent at the length of the training; a speed below 1 would turn them into a vowel.
    """
    durations = frame_durations(duration, speed)
    whole = frame_durations(duration, 1.0)
    for end in (0, -1):
        durations[end] = min(durations[end], whole[end])
    return durations


def predict(model: Model, table: Floats, piece: Piece, speed: float) -> tuple[NDArray[np.int64], Floats]:
    """Predict the durations of a piece's utterance, each word at its rate.

    Returns:
        Frames per token, int64 (tokens,), and the features `d` of the tokens.

    Raises:
        InputError: a phoneme is unknown.
        TooLongError: there are too many tokens. It is an InputError.
    """
    duration, features = model.predict(token_ids(model, piece), table[_row(table, piece)])
    speeds = [bound_speed(speed, word.rate) for word in piece.utterance.words for _ in word.symbols]
    return round_durations(duration, np.array([speed, *speeds, speed])), features


def with_predicted(piece: Piece, predicted: NDArray[np.int64], ends: bool) -> Piece:
    """Fill in missing durations of a piece, and those of both ends if `ends`."""
    frames = iter(predicted.tolist()[1:])

    def fill(words: tuple[Word, ...]) -> tuple[Word, ...]:
        own = [(word, tuple(islice(frames, len(word.symbols)))) for word in words]
        return tuple(replace(word, durations=d) if word.durations is None else word for word, d in own)

    before, words, after = fill(piece.before), fill(piece.words), fill(piece.after)
    lead, tail = (int(predicted[0]), int(predicted[-1])) if ends else (piece.lead, piece.tail)
    return replace(piece, words=words, lead=lead, tail=tail, before=before, after=after)


def complete(model: Model, table: Floats, piece: Piece, speed: float) -> Piece:
    """Predict the missing durations of a piece; errors are those of `predict`."""
    if piece.complete:
        return piece
    predicted, _ = predict(model, table, piece, speed)
    return with_predicted(piece, predicted, ends=False)


def render(model: Model, table: Floats, plan: Plan, piece: Piece, features: Floats | None = None) -> Floats:
    """Render a piece with durations.

    Args:
        model: of the request.
        table: style table of the piece's voice, (rows, width).
        plan: with seed and rates.
        piece: to render.
        features: of `predict`; None: computed here.

    Returns:
        float32 (samples,), the pause included.

    Raises:
        InputError: a phoneme is unknown.
        TooLongError: tokens or frames exceed the largest bucket. It is an InputError.
    """
    if not piece.words:
        return np.zeros(piece.pause, np.float32)
    tokens, ref_s = token_ids(model, piece), table[_row(table, piece)]
    durations = np.array(piece.utterance.durations, np.int64)
    model.check_frames(durations)
    if features is None:
        _, features = model.predict(tokens, ref_s)
    seed = seed_words(plan.seed, piece.noise)
    first, last = piece.window()
    audio = model.decode(tokens, ref_s, durations, features, seed, _pitch(piece), slice(first, last))
    if audio.size < durations.sum() * plan.samples_per_frame:  # the rest of the utterance is not heard
        skipped = first, int(durations.sum()) - last
        audio = np.pad(audio, [frames * plan.samples_per_frame for frames in skipped])
    if plan.mute:
        mute(audio, muted_spans(piece, plan.samples_per_frame, plan.sample_rate), plan.sample_rate)
    before, after = piece.cut(plan.samples_per_frame)
    audio = audio[before : audio.size - after]
    if before:
        fade_in(audio, plan.sample_rate)
    if after:
        fade_out(audio, plan.sample_rate)
    return np.concatenate([audio, np.zeros(piece.pause, np.float32)]) if piece.pause else audio


def digest_of(bundle: Bundle, table: Floats, plan: Plan, piece: Piece) -> str:
    """Return the SHA-256, in hexadecimal, of everything that decides about the audio of `render`.

    Raises:
        InputError: the voice does not have the piece's style.
    """
    # Fields without influence are reset by name, so that a new field counts. Rate and speed are in the
    # durations.
    before, words, after = (
        tuple(replace(word, text="", start=0, end=0, rate=1.0, joined=False) for word in part)
        for part in (piece.before, piece.words, piece.after)
    )
    style = np.ascontiguousarray(table[_row(table, piece)], "<f4").tobytes()
    piece = replace(piece, words=words, before=before, after=after, style=0, voice=None)
    plan = replace(plan, pieces=(piece,), voice="", speed=1.0)
    node = [__version__, bundle.sha256, style.hex(), asdict(plan)]
    return hashlib.sha256(json.dumps(node).encode()).hexdigest()


def token_ids(model: Model, piece: Piece) -> NDArray[np.int64]:
    """Return token ids (1, tokens) of the utterance, with a 0 at both ends; raises InputError."""
    symbols = piece.utterance.symbols
    unknown = sorted(set(symbols) - set(model.bundle.vocabulary))
    if unknown:
        raise InputError(
            f"The plan has phonemes that the model does not know: {listed(unknown)}. "
            "Remove them, with their durations."
        )
    return np.array([encode(symbols, model.bundle.vocabulary)], np.int64)


def _row(table: Floats, piece: Piece) -> int:
    if piece.style >= len(table):
        raise InputError(f"A piece of the plan has style {piece.style}, but the voice has {len(table)} rows.")
    return piece.style


def _pitch(piece: Piece) -> Floats | None:
    """Return factors on f0 per half frame of the utterance, float32 (2 * frames,); None if all are 1."""
    whole = piece.utterance
    if set(piece.pitch) == {1.0} and all(word.pitch == 1.0 for word in whole.words):
        return None
    places = np.linspace(0.0, 1.0, len(piece.pitch)) if len(piece.pitch) > 1 else np.zeros(1)
    curve = np.interp(np.linspace(0.0, 1.0, 2 * piece.frames), places, piece.pitch)
    first = 2 * (piece.lead + sum(word.frames for word in piece.before)) if piece.before else 0
    curve = np.pad(curve, (first, 2 * whole.frames - first - curve.size), "edge")
    place = 2 * piece.lead
    for word in whole.words:
        count = 2 * word.frames
        curve[place : place + count] *= word.pitch
        place += count
    return curve.astype(np.float32)
