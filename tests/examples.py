"""How many examples property tests draw: a quarter by day, all by night, with `pytest -m nightly`."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

__all__ = ["choose", "draws", "examples", "night"]

_ALL = 100
_DRAWING = {"examples", "random_lengths", "every_length", "short_lengths"}


def choose(expression: str) -> None:
    """Day or night, by what `-m` asks for."""
    by_night = re.search(r"(?<!not )\bnightly\b", expression) is not None
    # How long an example takes says nothing about what is tested, and machines are busy at times.
    settings.register_profile(
        "unhurried",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        max_examples=_ALL if by_night else _ALL // 4,
    )
    settings.load_profile("unhurried")


def night() -> bool:
    """Whether all examples are drawn."""
    return settings().max_examples >= _ALL


def examples(most: int) -> int:
    """So many by night, a quarter of them by day."""
    return max(1, most * settings().max_examples // _ALL)


def draws(item: pytest.Item) -> bool:
    """Whether a test, or another one of its module, draws more examples by night."""
    module = getattr(item, "module", None)
    return is_hypothesis_test(getattr(item, "obj", None)) or not _DRAWING.isdisjoint(vars(module or object))
