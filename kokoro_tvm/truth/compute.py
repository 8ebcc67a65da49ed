"""Makes the references of a recipe's utterances with the stock model (torch)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from kokoro_tvm.errors import RecipeError
from kokoro_tvm.noise import draw_noise
from kokoro_tvm.truth.reference import (
    DYNAMIC,
    EXACT,
    RESEED,
    TRUTH,
    Outputs,
    Reference,
    Rendering,
    Request,
    SpeechReference,
    Trace,
)
from kokoro_tvm.truth.steps import Steps
from kokoro_tvm.truth.stock import (
    ExactPhases,
    rounded,
    run_decoder,
    run_fed,
    run_steps,
    run_stock,
    stock_model,
)

if TYPE_CHECKING:
    from kokoro_tvm.recipe.parts import Utterance

__all__ = [
    "compute_references",
    "compute_speech",
    "compute_steps",
    "memory_reused",
    "one_thread",
    "request_of",
    "style_row",
    "tokenize",
]

Config = Mapping[str, Any]
State = Mapping[str, torch.Tensor]
Array = NDArray[Any]

# From glibc's malloc.h, and its defaults.
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
_DEFAULT_TRIM_THRESHOLD, _DEFAULT_MMAP_MAX = 128 * 1024, 65536


@contextmanager
def memory_reused() -> Iterator[None]:
    """Within the block, glibc's malloc keeps what is freed; afterwards it gives it back to the system.

    By default each array of more than 32 MiB is mapped anew, and half of the time of adding two of them
    goes into clearing its pages. With another C library nothing is different.
    """
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallopt"):
        yield
        return
    libc.mallopt(_M_MMAP_MAX, 0)
    libc.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
    try:
        yield
    finally:
        libc.mallopt(_M_MMAP_MAX, _DEFAULT_MMAP_MAX)
        libc.mallopt(_M_TRIM_THRESHOLD, _DEFAULT_TRIM_THRESHOLD)
        libc.malloc_trim(0)


@contextmanager
def one_thread() -> Iterator[None]:
    """Within the block, torch computes on one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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


@memory_reused()
def compute_references(
    config: Config,
    state: State,
    voices: Mapping[str, Array],
    utterances: Sequence[Utterance],
    progress: Callable[[str], None] = lambda _: None,
) -> list[Reference]:
    """Run the stock model on every utterance in both regimes, end to end and fed, and its exact audio.

    `config` is config.json's content, `state` the model's float32 state_dict, `voices` name -> (510,
    256) float32. `progress` hears of every run. One model is in memory at a time. Raises RecipeError
    for an unknown voice or phoneme and ValidationError when the stock model does not behave as it is
    known to.
    """
    requests = [request_of(u, config, voices) for u in utterances]
    whole: dict[str, list[Trace]] = {TRUTH: [], DYNAMIC: []}
    fed: dict[str, list[Outputs]] = {TRUTH: [], DYNAMIC: []}
    exact: list[tuple[Array, Array]] = []
    for regime in (TRUTH, DYNAMIC):
        model = stock_model(config, state, regime)
        for index, r in enumerate(requests):
            about = (r.tokens, r.ref_s, r.speed, r.draw)
            progress(f"{regime}, {r.name}, end to end")
            own = run_stock(model, *about)
            whole[regime].append(own)
            progress(f"{regime}, {r.name}, fed")
            borders = rounded(whole[TRUTH][index])
            fed[regime].append(run_fed(model, *about, borders))
            if regime == TRUTH:
                progress(f"{EXACT}, {r.name}")
                with ExactPhases():
                    audio, fed_audio = (run_decoder(model, i, r.ref_s, r.draw) for i in (own, borders))
                exact.append((audio, fed_audio))
        # Freed before the next is built: together they would take a gigabyte.
        del model
    return [
        Reference(
            **vars(request),
            truth=whole[TRUTH][index],
            dynamic=whole[DYNAMIC][index],
            fed_truth=fed[TRUTH][index],
            fed_dynamic=fed[DYNAMIC][index],
            exact_audio=exact[index][0],
            fed_exact_audio=exact[index][1],
        )
        for index, request in enumerate(requests)
    ]


@memory_reused()
def compute_speech(
    config: Config,
    state: State,
    voices: Mapping[str, Array],
    utterances: Sequence[Utterance],
    progress: Callable[[str], None] = lambda _: None,
) -> list[SpeechReference]:
    """What the stock model says of every utterance, end to end; else as `compute_references`."""
    requests = [request_of(u, config, voices) for u in utterances]
    sides: list[dict[str, Any]] = [{} for _ in requests]
    for regime in (TRUTH, DYNAMIC):
        model = stock_model(config, state, regime)
        for r, found in zip(requests, sides, strict=True):
            progress(f"{regime}, {r.name}")
            trace = run_stock(model, r.tokens, r.ref_s, r.speed, r.draw)
            rendering = Rendering(trace.audio, trace.durations, trace.f0)
            if regime == DYNAMIC:
                found["dynamic"] = rendering
                continue
            progress(f"{regime}, {r.name}, other noise")
            decode = partial(run_decoder, model, trace, r.ref_s)
            reseeded = replace(rendering, audio=decode(partial(draw_noise, r.seed + RESEED, piece=r.piece)))
            progress(f"{EXACT}, {r.name}")
            with ExactPhases():
                exact_audio = decode(r.draw)
            found |= {"truth": rendering, "reseeded": reseeded, "duration": trace.duration}
            found["exact_audio"] = exact_audio
        del model
    return [
        SpeechReference(**vars(request), **renderings)
        for request, renderings in zip(requests, sides, strict=True)
    ]


@memory_reused()
def compute_steps(
    config: Config,
    state: State,
    voices: Mapping[str, Array],
    utterance: Utterance,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Steps]:
    """Every step of one utterance in both regimes of the stock model; arguments as `compute_references`."""
    request = request_of(utterance, config, voices)
    made = {}
    for regime in (TRUTH, DYNAMIC):
        progress(f"{regime}, {request.name}, every step")
        model = stock_model(config, state, regime)
        made[regime] = run_steps(model, request.tokens, request.ref_s, request.speed, request.draw)
        del model
    return made


def request_of(utterance: Utterance, config: Config, voices: Mapping[str, Array]) -> Request:
    """An utterance as the model is given it. Raises RecipeError for an unknown voice or phoneme."""
    fields = utterance.model_dump(include={"name", "phonemes", "voice", "speed", "seed", "piece"})
    tokens = tokenize(utterance.phonemes, config["vocab"])
    return Request(**fields, tokens=tokens, ref_s=style_row(voices, utterance))


def style_row(voices: Mapping[str, Array], utterance: Utterance) -> NDArray[np.float32]:
    """The voice's row for this many phonemes, (1, 256) float32, chosen as the stock pipeline does."""
    if utterance.voice not in voices:
        raise RecipeError(
            f"The utterance {utterance.name!r} asks for the voice {utterance.voice!r}, which the checkpoint "
            f"does not have. It has: {', '.join(sorted(voices))}."
        )
    row = voices[utterance.voice][len(utterance.phonemes) - 1]
    return np.ascontiguousarray(row, dtype=np.float32)[None]
