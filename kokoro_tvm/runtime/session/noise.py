"""The excitation noise of an utterance: an array, or the seed from which compiled code draws it."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import format_number
from kokoro_tvm.runtime.bundle.tensors import aligned

Noise: TypeAlias = NDArray[np.float32] | Callable[[int], NDArray[np.float32]]


def check_seed(seed: Any) -> int:
    """Return a seed as an int from 0 to 2**64 - 1; raises InputError."""
    expectation = "The seed should be a whole number from 0 to 2**64 - 1, but is"
    try:
        number = operator.index(seed)
    except TypeError as error:
        raise InputError(f"{expectation} {seed!r}.") from error
    if not 0 <= number < 2**64:
        raise InputError(f"{expectation} {format_number(number)}.")
    return number


def draw_seed(seed: Any) -> int:
    """Return a seed as an int; a random one for None. Raises InputError."""
    return int.from_bytes(os.urandom(8), "little") if seed is None else check_seed(seed)


def seed_words(seed: int, piece: int) -> NDArray[np.uint32]:
    """Return the decoder's seed, uint32 (3,): lower and upper half, and the number of the piece.

    `Synthesizer.run` uses piece 0, so that a text of one piece sounds the same.
    """
    return np.array([seed & 0xFFFFFFFF, seed >> 32, piece], np.uint32)


def given_noise(noise: Noise, samples: int) -> NDArray[np.float32]:
    """Return the caller's noise as float32 (samples,); raises InputError for another shape or NaN."""
    values = np.asarray(noise(samples) if callable(noise) else noise)
    if values.shape != (samples,):
        raise InputError(
            f"The noise should have shape ({samples},), but has {values.shape}. "
            "The number of samples follows from the durations: pass a callable from it to the array."
        )
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        raise InputError(f"The noise ({values.dtype}) should be floating-point numbers, all of them finite.")
    return aligned(values, np.float32)
