"""Checks of the numbers that words, pieces and plans are made of."""

from __future__ import annotations

import math
import operator
from numbers import Real
from typing import Any

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.prosody import FACTORS
from kokoro_tvm.words import show_number

__all__ = ["finite_number", "prosody_factor", "set_field", "whole_number"]


def set_field(record: object, name: str, value: Any) -> None:
    """Sets a field of a frozen record, while it is made."""
    object.__setattr__(record, name, value)


def whole_number(value: Any, what: str, least: int = 0, most: int | None = None) -> int:
    """The value as an int; raises InputError, with `what` it is, for another type and out of the limits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"The {what} should be a whole number, but is {value!r}.") from None
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        limits = f"{least} or more" if most is None else f"within {least}..{most}"
        raise InputError(f"The {what} should be {limits}, but is {show_number(value)}.")
    return number


def finite_number(value: Any, what: str) -> float:
    """The value as a float; raises InputError for another type, NaN and infinities."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"The {what} should be a finite number, but is {show_number(value)}.")
    return number


def prosody_factor(value: Any, what: str) -> float:
    """The value as a factor on pitch or speed; raises InputError beyond FACTORS."""
    low, high = FACTORS
    factor = finite_number(value, what)
    if not low <= factor <= high:
        raise InputError(f"The {what} should be a factor from {low} to {high}, but is {show_number(value)}.")
    return factor
