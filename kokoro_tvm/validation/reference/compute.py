"""Compute references of utterances with the stock model. Needs torch."""

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

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.common.noise import draw_noise
from kokoro_tvm.validation.reference.reference import (
    DYNAMIC,
    EXACT,
    RESEED,
    TRUTH,
    Outputs,
    Reference,
    ReferenceTrace,
    Rendering,
    Request,
    SpeechReference,
)
from kokoro_tvm.validation.reference.steps import Steps
from kokoro_tvm.validation.reference.stock import (
    ExactPhases,
    round_borders,
    run_decoder,
    run_fed,
    run_steps,
    run_stock,
    stock_model,
)

if TYPE_CHECKING:
    from kokoro_tvm.recipe.parts import UtteranceSpec

Config = Mapping[str, Any]
State = Mapping[str, torch.Tensor]
Array = NDArray[Any]

# From glibc's malloc.h, and its defaults.
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
_DEFAULT_TRIM_THRESHOLD, _DEFAULT_MMAP_MAX = 128 * 1024, 65536


@contextmanager
def reuse_memory() -> Iterator[None]:
    """Let glibc's malloc reuse freed memory within the block, and return it to the system afterwards.

    Does nothing with another C library.
    """
    # By default malloc maps every array above 32 MiB anew, and clearing the pages takes half of the time of
    # adding two such arrays.
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
    """Limit torch to one thread within the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def tokenize(phonemes: str, vocabulary: Mapping[str, int]) -> NDArray[np.int64]:
    """Convert phonemes to the model's token ids.

    Returns:
        (1, T) int64, with the boundary symbol 0 at both ends.

    Raises:
        RecipeError: A phoneme is not in the vocabulary, or there is none.
    """
    unknown = sorted(set(phonemes) - set(vocabulary))
    if unknown or not phonemes:
        what = f"phonemes the model does not know: {' '.join(unknown)}" if unknown else "no phonemes"
        raise RecipeError(
            f"The utterance {phonemes!r} has {what}. Change it in the model recipe's utterances."
        )
    return np.array([[0, *(vocabulary[symbol] for symbol in phonemes), 0]], dtype=np.int64)


@reuse_memory()
def compute_references(
    config: Config,
    state: State,
    voices: Mapping[str, Array],
    utterances: Sequence[UtteranceSpec],
    progress: Callable[[str], None] = lambda _: None,
) -> list[Reference]:
    """Run the stock model on every utterance: both regimes, end to end and fed, and the exact audio.

    Args:
        config: Content of config.json.
        state: The model's float32 state dict.
        voices: Style tables by voice name, (510, 256) float32.
        utterances: What to speak.
        progress: Called with a line of text before every run.

    Raises:
        RecipeError: A voice or phoneme is unknown.
        ValidationError: The stock model does not behave as the pinned version does.
    """
    requests = [request_of(u, config, voices) for u in utterances]
    whole: dict[str, list[ReferenceTrace]] = {TRUTH: [], DYNAMIC: []}
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
            borders = round_borders(whole[TRUTH][index])
            fed[regime].append(run_fed(model, *about, borders))
            if regime == TRUTH:
                progress(f"{EXACT}, {r.name}")
                with ExactPhases():
                    audio, fed_audio = (run_decoder(model, i, r.ref_s, r.draw) for i in (own, borders))
                exact.append((audio, fed_audio))
        # Free this model before the next one is built: two of them take a gigabyte.
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


@reuse_memory()
def compute_speech(
    config: Config,
    state: State,
    voices: Mapping[str, Array],
    utterances: Sequence[UtteranceSpec],
    progress: Callable[[str], None] = lambda _: None,
) -> list[SpeechReference]:
    """Run the stock model end to end on every utterance in both regimes, and once with other noise.

    Arguments and errors are those of `compute_references`.
    """
    requests = [request_of(u, config, voices) for u in utterances]
    sides: list[dict[str, Any]] = [{} for _ in requests]
    for regime in (TRUTH, DYNAMIC):
        model = stock_model(config, state, regime)
        for r, renderings in zip(requests, sides, strict=True):
            progress(f"{regime}, {r.name}")
            trace = run_stock(model, r.tokens, r.ref_s, r.speed, r.draw)
            rendering = Rendering(trace.audio, trace.durations, trace.f0)
            if regime == DYNAMIC:
                renderings["dynamic"] = rendering
                continue
            progress(f"{regime}, {r.name}, other noise")
            decode = partial(run_decoder, model, trace, r.ref_s)
            reseeded = replace(rendering, audio=decode(partial(draw_noise, r.seed + RESEED, piece=r.piece)))
            progress(f"{EXACT}, {r.name}")
            with ExactPhases():
                exact_audio = decode(r.draw)
            renderings |= {"truth": rendering, "reseeded": reseeded, "duration": trace.duration}
            renderings["exact_audio"] = exact_audio
        del model
    return [
        SpeechReference(**vars(request), **renderings)
        for request, renderings in zip(requests, sides, strict=True)
    ]


@reuse_memory()
def compute_steps(
    config: Config,
    state: State,
    voices: Mapping[str, Array],
    utterance: UtteranceSpec,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Steps]:
    """Record every step of one utterance in both regimes; arguments are those of `compute_references`."""
    request = request_of(utterance, config, voices)
    steps = {}
    for regime in (TRUTH, DYNAMIC):
        progress(f"{regime}, {request.name}, every step")
        model = stock_model(config, state, regime)
        steps[regime] = run_steps(model, request.tokens, request.ref_s, request.speed, request.draw)
        del model
    return steps


def request_of(utterance: UtteranceSpec, config: Config, voices: Mapping[str, Array]) -> Request:
    """Convert an utterance to the model's inputs. Raises RecipeError for an unknown voice or phoneme."""
    fields = utterance.model_dump(include={"name", "phonemes", "voice", "speed", "seed", "piece"})
    tokens = tokenize(utterance.phonemes, config["vocab"])
    return Request(**fields, tokens=tokens, ref_s=style_row(voices, utterance))


def style_row(voices: Mapping[str, Array], utterance: UtteranceSpec) -> NDArray[np.float32]:
    """Select the voice's style vector for the utterance's length as the stock pipeline does.

    Returns:
        (1, 256) float32. Raises RecipeError for an unknown voice.
    """
    if utterance.voice not in voices:
        raise RecipeError(
            f"The utterance {utterance.name!r} asks for the voice {utterance.voice!r}, which the checkpoint "
            f"does not have. It has: {', '.join(sorted(voices))}."
        )
    row = voices[utterance.voice][len(utterance.phonemes) - 1]
    return np.ascontiguousarray(row, dtype=np.float32)[None]
