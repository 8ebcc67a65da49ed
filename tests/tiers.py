"""Which tier a test is in. Every call of `pytest` runs it, if it is marked neither `slow` nor `nightly`.

`-m slow` runs, at every push, what takes long or needs packages of [test-slow]: real weights, code for other
machines, GPUs and browsers, several builds. `-m nightly` runs, at night, what takes minutes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

__all__ = ["check", "selection"]

SLOW_FIXTURES = {"browser", "others", "real_bundle", "runner_runtime"}
"""What only tests of the tiers `slow` and `nightly` may use."""


def selection(expression: str) -> str:
    """The expression of `-m`, where `slow` leaves out what is nightly as well."""
    if re.search(r"(?<!not )\bslow\b", expression) and "nightly" not in expression:
        return f"({expression}) and not nightly"
    return expression


def check(items: Iterable[pytest.Item]) -> None:
    """Raises pytest.UsageError where a slow test does not say why, or one is slow and does not say so."""
    if faults := [f"{item.nodeid}: {fault}" for item in items if (fault := _fault(item))]:
        raise pytest.UsageError("\n".join(faults))


def _fault(item: pytest.Item) -> str | None:
    slow = item.get_closest_marker("slow")
    if slow is not None:
        says = len(slow.args) == 1 and not slow.kwargs and str(slow.args[0]).strip()
        return None if says else 'say why it is slow: @pytest.mark.slow("opens a browser").'
    if item.get_closest_marker("nightly") is not None:
        return None
    if item.get_closest_marker("weights") is not None:
        return "what needs the real weights is slow or nightly."
    used = sorted(SLOW_FIXTURES.intersection(getattr(item, "fixturenames", ())))
    return f"what uses the fixture {used[0]} is slow or nightly." if used else None
