"""Checks of arguments, and of the numbers in words, pieces and plans."""

from __future__ import annotations

import math
import operator
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import format_number, truncate
from kokoro_tvm.runtime.bundle.manifest import Bundle
from kokoro_tvm.runtime.prosody import FACTORS

SPEEDS = (0.25, 4.0)
"""Minimum and maximum speed of the model; beyond them, sounds are lost or drawn out."""

_MAX_STYLE = 32.0  # ten times the maximum of the 54 voices


def set_field(record: object, name: str, value: Any) -> None:
    """Set a field of a frozen record in its `__post_init__`."""
    object.__setattr__(record, name, value)


def whole_number(value: Any, what: str, least: int = 0, most: int | None = None) -> int:
    """Return a value as an int; raises InputError for another type or beyond the limits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"The {what} should be a whole number, but is {truncate(repr(value))}.") from None
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        limits = f"{least} or more" if most is None else f"within {least}..{most}"
        raise InputError(f"The {what} should be {limits}, but is {format_number(value)}.")
    return number


def finite_number(value: Any, what: str) -> float:
    """Return a value as a float; raises InputError for another type, NaN and infinities."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"The {what} should be a finite number, but is {format_number(value)}.")
    return number


def prosody_factor(value: Any, what: str) -> float:
    """Return a value as a factor on pitch or speed; raises InputError beyond FACTORS."""
    low, high = FACTORS
    factor = finite_number(value, what)
    if not low <= factor <= high:
        raise InputError(
            f"The {what} should be a factor from {low} to {high}, but is {format_number(value)}."
        )
    return factor


def check_speed(speed: Any) -> float:
    """Return a speed as a float; raises InputError unless it is finite and above 0."""
    try:
        value = float(speed)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"The speed should be a number above 0, such as 1.0, but is {format_number(speed)}."
        ) from error
    if not math.isfinite(value) or value <= 0:
        raise InputError(f"The speed should be a finite number above 0, such as 1.0, but is {value:g}.")
    return value


def bound_speed(speed: float, rate: float) -> float:
    """Return the speed of a word: speed times rate, within SPEEDS unless `speed` itself is beyond."""
    low, high = SPEEDS
    return min(max(speed * rate, min(speed, low)), max(speed, high))


def check_token_ids(token_ids: Any, bundle: Bundle) -> NDArray[np.int64]:
    """Return token ids as int64 (1, tokens); raises InputError for another shape or an unknown id."""
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
    """Return a style as float32 (2 * style_dim,); raises InputError for another shape or extreme values."""
    width = 2 * bundle.style_dim
    style = np.asarray(ref_s)
    if style.shape not in {(width,), (1, width)}:
        raise InputError(f"ref_s should have shape ({width},) or (1, {width}), but has {style.shape}.")
    if style.dtype.kind not in "fiu" or not np.isfinite(style).all():
        raise InputError(f"ref_s ({style.dtype}) should be numbers, all of them finite.")
    most = float(np.abs(style.astype(np.float64)).max())
    if most > _MAX_STYLE:
        raise InputError(
            f"invalid ref_s: its magnitude {most:g} exceeds {_MAX_STYLE:g}; that of voices is at most 3.2."
        )
    return style.astype(np.float32).reshape(width)
