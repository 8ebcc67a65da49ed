"""Checks of arguments before anything is computed; each error says what was expected."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.bundle import Bundle

__all__ = ["check_ref_s", "check_speed", "check_token_ids"]


def check_speed(speed: Any) -> float:
    """`speed` as a float; raises InputError unless it is a finite number above 0."""
    try:
        value = float(speed)
    except (TypeError, ValueError) as error:
        raise InputError(f"The speed should be a number above 0, such as 1.0, but is {speed!r}.") from error
    if not math.isfinite(value) or value <= 0:
        raise InputError(f"The speed should be a finite number above 0, such as 1.0, but is {value:g}.")
    return value


def check_token_ids(token_ids: Any, bundle: Bundle) -> NDArray[np.int64]:
    """`token_ids` as int64 (1, tokens); raises InputError for another shape or an unknown id."""
    ids = np.asarray(token_ids)
    if ids.ndim == 2 and ids.shape[0] == 1:
        ids = ids[0]
    if ids.ndim != 1 or ids.size == 0 or ids.dtype.kind not in "iu":
        raise InputError(
            f"token_ids should be one row of whole numbers, but is {ids.dtype} {np.shape(token_ids)}."
        )
    highest = max(bundle.vocabulary.values())
    if ids.min() < 0 or ids.max() > highest:
        raise InputError(f"token_ids should lie within 0..{highest}, but go from {ids.min()} to {ids.max()}.")
    return ids.astype(np.int64)[np.newaxis]


def check_ref_s(ref_s: Any, bundle: Bundle) -> NDArray[np.float32]:
    """`ref_s` as float32 (2 * style_dim,); raises InputError for another shape or NaN."""
    width = 2 * bundle.style_dim
    style = np.asarray(ref_s)
    if style.shape not in {(width,), (1, width)}:
        raise InputError(f"ref_s should have shape ({width},) or (1, {width}), but has {style.shape}.")
    if style.dtype.kind not in "fiu" or not np.isfinite(style).all():
        raise InputError(f"ref_s ({style.dtype}) should be numbers, all of them finite.")
    return style.astype(np.float32).reshape(width)
