"""The excitation noise of an utterance: given by the caller, or drawn from a seed, the same every time."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.tensors import aligned, aligned_empty

__all__ = ["Noise", "check_seed", "draw_noise", "given_noise"]

Noise: TypeAlias = NDArray[np.float32] | Callable[[int], NDArray[np.float32]]


def check_seed(seed: Any) -> int:
    """`seed` as an int of 0 or more; raises InputError otherwise."""
    try:
        number = operator.index(seed)
    except TypeError as error:
        raise InputError(f"The seed should be a whole number of 0 or more, but is {seed!r}.") from error
    if number < 0:
        raise InputError(f"The seed should be a whole number of 0 or more, but is {number}.")
    return number


def draw_noise(seed: int, piece: int, samples: int, channels: int) -> NDArray[np.float32]:
    """Standard normal float32 (samples, channels) of numpy's PCG64.

    The first piece (0) of a text takes `Generator(PCG64(seed))`, so that a text of one piece and `run` draw
    the same. Piece k takes `Generator(PCG64(SeedSequence(seed, spawn_key=(k,))))`: independent of the others'
    lengths, and the same for the same text, voice, speed and bundle.
    """
    source = np.random.SeedSequence(seed, spawn_key=(piece,) if piece else ())
    noise = aligned_empty((samples, channels), np.float32)
    np.random.Generator(np.random.PCG64(source)).standard_normal(dtype=np.float32, out=noise)
    return noise


def given_noise(noise: Noise, samples: int, channels: int) -> NDArray[np.float32]:
    """The caller's noise as float32 (samples, channels); raises InputError for another shape or NaN."""
    found = np.asarray(noise(samples) if callable(noise) else noise)
    if found.shape != (samples, channels):
        raise InputError(
            f"The noise should have shape (samples, channels) {(samples, channels)}, but has {found.shape}. "
            "The number of samples follows from the durations: pass a callable from it to the array."
        )
    if found.dtype.kind != "f" or not np.isfinite(found).all():
        raise InputError(f"The noise ({found.dtype}) should be floating-point numbers, all of them finite.")
    return aligned(found, np.float32)
