"""The order in which to do things that come after others."""

from __future__ import annotations

from collections.abc import Callable, Iterable

__all__ = ["in_order"]


def in_order(names: Iterable[str], before: Callable[[str], Iterable[str]]) -> list[str]:
    """These, and all that they come after as `before` tells, each after those. There must be no circle."""
    ordered: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in ordered:
            for each in before(name):
                visit(each)
            ordered[name] = None

    for name in names:
        visit(name)
    return list(ordered)
