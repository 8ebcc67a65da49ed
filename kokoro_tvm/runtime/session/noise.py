"""The excitation noise of an utterance: given by the caller, or the seed that compiled code draws it from."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import format_number
from kokoro_tvm.runtime.bundle.tensors import aligned

__all__ = ["Noise", "check_seed", "given_noise", "seed_words"]

Noise: TypeAlias = NDArray[np.float32] | Callable[[int], NDArray[np.float32]]


def check_seed(seed: Any) -> int:
    """`seed` as an int of 0 to 2**64 - 1; raises InputError otherwise."""
    wanted = "The seed should be a whole number from 0 to 2**64 - 1, but is"
    try:
        number = operator.index(seed)
    except TypeError as error:
        raise InputError(f"{wanted} {seed!r}.") from error
    if not 0 <= number < 2**64:
        raise InputError(f"{wanted} {format_number(number)}.")
    return number


def seed_words(seed: int, piece: int) -> NDArray[np.uint32]:
    """What the decoder draws the noise of: uint32 (3,), the seed's lower and upper half, and the piece.

    The first piece (0) of a text is that of `run`, so a text of one piece and `run` sound alike.
    """
    return np.array([seed & 0xFFFFFFFF, seed >> 32, piece], np.uint32)


def given_noise(noise: Noise, samples: int) -> NDArray[np.float32]:
    """The caller's noise as float32 (samples,); raises InputError for another shape or NaN."""
    found = np.asarray(noise(samples) if callable(noise) else noise)
    if found.shape != (samples,):
        raise InputError(
            f"The noise should have shape ({samples},), but has {found.shape}. "
            "The number of samples follows from the durations: pass a callable from it to the array."
        )
    if found.dtype.kind != "f" or not np.isfinite(found).all():
        raise InputError(f"The noise ({found.dtype}) should be floating-point numbers, all of them finite.")
    return aligned(found, np.float32)
