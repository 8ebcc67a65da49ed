"""Checks of arguments before anything is computed; each error says what was expected."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.bundle.manifest import Bundle
from kokoro_tvm.words import show_number

__all__ = ["SPEEDS", "check_ref_s", "check_speed", "check_token_ids"]

SPEEDS = (0.25, 4.0)
"""The least and the greatest speed that the model can say; beyond them sounds are lost or drawn out."""

_MOST_STYLE = 32.0  # ten times what any of the 54 voices has: 3.2


def check_speed(speed: Any) -> float:
    """`speed` as a float; raises InputError unless it is a finite number above 0."""
    try:
        value = float(speed)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"The speed should be a number above 0, such as 1.0, but is {show_number(speed)}."
        ) from error
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
    """`ref_s` as float32 (2 * style_dim,); raises InputError for another shape or what no voice has."""
    width = 2 * bundle.style_dim
    style = np.asarray(ref_s)
    if style.shape not in {(width,), (1, width)}:
        raise InputError(f"ref_s should have shape ({width},) or (1, {width}), but has {style.shape}.")
    if style.dtype.kind not in "fiu" or not np.isfinite(style).all():
        raise InputError(f"ref_s ({style.dtype}) should be numbers, all of them finite.")
    most = float(np.abs(style.astype(np.float64)).max())
    if most > _MOST_STYLE:
        raise InputError(
            f"ref_s is no style that can be spoken: it has the value {most:g}, and voices have at most 3.2."
        )
    return style.astype(np.float32).reshape(width)
