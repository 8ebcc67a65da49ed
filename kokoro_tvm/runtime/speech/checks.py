"""Checks of arguments before anything is computed, and of the numbers that words, pieces and plans
are made of; each error says what was expected."""

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

__all__ = [
    "SPEEDS",
    "bound_speed",
    "check_ref_s",
    "check_speed",
    "check_token_ids",
    "finite_number",
    "prosody_factor",
    "set_field",
    "whole_number",
]

SPEEDS = (0.25, 4.0)
"""The least and the greatest speed that the model can say; beyond them sounds are lost or drawn out."""

_MOST_STYLE = 32.0  # ten times what any of the 54 voices has: 3.2


def set_field(record: object, name: str, value: Any) -> None:
    """Sets a field of a frozen record, while it is made."""
    object.__setattr__(record, name, value)


def whole_number(value: Any, what: str, least: int = 0, most: int | None = None) -> int:
    """The value as an int; raises InputError, with `what` it is, for another type and out of the limits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"The {what} should be a whole number, but is {truncate(repr(value))}.") from None
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        limits = f"{least} or more" if most is None else f"within {least}..{most}"
        raise InputError(f"The {what} should be {limits}, but is {format_number(value)}.")
    return number


def finite_number(value: Any, what: str) -> float:
    """The value as a float; raises InputError for another type, NaN and infinities."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"The {what} should be a finite number, but is {format_number(value)}.")
    return number


def prosody_factor(value: Any, what: str) -> float:
    """The value as a factor on pitch or speed; raises InputError beyond FACTORS."""
    low, high = FACTORS
    factor = finite_number(value, what)
    if not low <= factor <= high:
        raise InputError(
            f"The {what} should be a factor from {low} to {high}, but is {format_number(value)}."
        )
    return factor


def check_speed(speed: Any) -> float:
    """`speed` as a float; raises InputError unless it is a finite number above 0."""
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
    """Return the speed of a word at its rate, which a rate takes beyond SPEEDS no further than `speed` is."""
    low, high = SPEEDS
    return min(max(speed * rate, min(speed, low)), max(speed, high))


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
