"""Makes the references of a recipe's utterances with the stock model (torch)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from kokoro_tvm.errors import RecipeError
from kokoro_tvm.validate.asked import Asked, draw_noise
from kokoro_tvm.validate.reference import DYNAMIC, TRUTH, Outputs, Reference, Trace
from kokoro_tvm.validate.said import RESEED, Said, SpeechReference
from kokoro_tvm.validate.steps import Steps
from kokoro_tvm.validate.stock import Borders, run_fed, run_steps, run_stock, stock_model

if TYPE_CHECKING:
    from kokoro_tvm.recipe.parts import Utterance

__all__ = [
    "ask",
    "compute_reference",
    "compute_references",
    "compute_speech",
    "compute_steps",
    "style_row",
    "tokenize",
]

Config = Mapping[str, Any]
State = Mapping[str, torch.Tensor]
Array = NDArray[Any]


def tokenize(phonemes: str, vocabulary: Mapping[str, int]) -> NDArray[np.int64]:
    """Phonemes as the model's token ids, (1, T) int64 with the boundary symbol 0 at both ends.

    Raises RecipeError when one is unknown: a reference for something else than it says would be worthless.
    """
    unknown = sorted(set(phonemes) - set(vocabulary))
    if unknown or not phonemes:
        what = f"phonemes the model does not know: {' '.join(unknown)}" if unknown else "no phonemes"
        raise RecipeError(
            f"The utterance {phonemes!r} has {what}. Change it in the model recipe's utterances."
        )
    return np.array([[0, *(vocabulary[symbol] for symbol in phonemes), 0]], dtype=np.int64)


def compute_reference(
    config: Config, state: State, voices: Mapping[str, Array], utterance: Utterance
) -> Reference:
    """The reference of one utterance; for several, `compute_references` builds each model once."""
    return compute_references(config, state, voices, [utterance])[0]


def compute_references(
    config: Config,
    state: State,
    voices: Mapping[str, Array],
    utterances: Sequence[Utterance],
    progress: Callable[[str], None] = lambda _: None,
) -> list[Reference]:
    """Run the stock model on every utterance in both regimes, end to end and fed.

    `config` is config.json's content, `state` the model's float32 state_dict, `voices` name -> (510,
    256) float32. `progress` hears of every run. One model is in memory at a time. Raises RecipeError
    for an unknown voice or phoneme and ValidationError when the stock model does not behave as it is
    known to.
    """
    asked = [ask(u, config, voices) for u in utterances]
    whole: dict[str, list[Trace]] = {TRUTH: [], DYNAMIC: []}
    fed: dict[str, list[Outputs]] = {TRUTH: [], DYNAMIC: []}
    for regime in (TRUTH, DYNAMIC):
        model = stock_model(config, state, regime)
        for index, a in enumerate(asked):
            progress(f"{regime}, {a.name}, end to end")
            whole[regime].append(run_stock(model, a.tokens, a.ref_s, a.speed, a.draw))
            progress(f"{regime}, {a.name}, fed")
            borders = Borders.of(whole[TRUTH][index])
            fed[regime].append(run_fed(model, a.tokens, a.ref_s, a.speed, a.draw, borders))
        # Freed before the next is built: together they would take a gigabyte.
        del model
    return [
        Reference(
            **vars(a),
            truth=whole[TRUTH][index],
            dynamic=whole[DYNAMIC][index],
            fed_truth=fed[TRUTH][index],
            fed_dynamic=fed[DYNAMIC][index],
        )
        for index, a in enumerate(asked)
    ]


def compute_speech(
    config: Config,
    state: State,
    voices: Mapping[str, Array],
    utterances: Sequence[Utterance],
    progress: Callable[[str], None] = lambda _: None,
) -> list[SpeechReference]:
    """What the stock model says of every utterance, end to end; else as `compute_references`."""
    asked = [ask(u, config, voices) for u in utterances]
    sides: list[dict[str, Any]] = [{} for _ in asked]
    for regime, draws in ((TRUTH, {"truth": 0, "reseeded": RESEED}), (DYNAMIC, {"dynamic": 0})):
        model = stock_model(config, state, regime)
        for a, said in zip(asked, sides, strict=True):
            for side, offset in draws.items():
                progress(f"{regime}, {a.name}{', other noise' if offset else ''}")
                draw = partial(draw_noise, a.seed + offset)
                trace = run_stock(model, a.tokens, a.ref_s, a.speed, draw)
                said[side] = Said(trace.audio, trace.durations, trace.f0)
                if side == "truth":
                    said["duration"] = trace.duration
        del model
    return [SpeechReference(**vars(a), **said) for a, said in zip(asked, sides, strict=True)]


def compute_steps(
    config: Config,
    state: State,
    voices: Mapping[str, Array],
    utterance: Utterance,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Steps]:
    """Every step of one utterance in both regimes of the stock model; arguments as `compute_references`."""
    a = ask(utterance, config, voices)
    made = {}
    for regime in (TRUTH, DYNAMIC):
        progress(f"{regime}, {a.name}, every step")
        model = stock_model(config, state, regime)
        made[regime] = run_steps(model, a.tokens, a.ref_s, a.speed, a.draw)
        del model
    return made


def ask(utterance: Utterance, config: Config, voices: Mapping[str, Array]) -> Asked:
    """An utterance as the model is given it. Raises RecipeError for an unknown voice or phoneme."""
    told = utterance.model_dump(include={"name", "phonemes", "voice", "speed", "seed"})
    tokens = tokenize(utterance.phonemes, config["vocab"])
    return Asked(**told, tokens=tokens, ref_s=style_row(voices, utterance))


def style_row(voices: Mapping[str, Array], utterance: Utterance) -> NDArray[np.float32]:
    """The voice's row for this many phonemes, (1, 256) float32, chosen as the stock pipeline does."""
    if utterance.voice not in voices:
        raise RecipeError(
            f"The utterance {utterance.name!r} asks for the voice {utterance.voice!r}, which the checkpoint "
            f"does not have. It has: {', '.join(sorted(voices))}."
        )
    row = voices[utterance.voice][len(utterance.phonemes) - 1]
    return np.ascontiguousarray(row, dtype=np.float32)[None]
