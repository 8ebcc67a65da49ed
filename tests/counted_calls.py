"""How much work a function is, by a measure that does not depend on how fast the machine is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["counted"]

_R = TypeVar("_R")


def counted(function: Callable[[], _R]) -> tuple[int, _R]:
    """Calls of Python and of C that it makes, and its result. What C does within one call is not counted."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        result = function()
    finally:
        sys.setprofile(None)
    return calls, result
