"""The order in which to do things that come after others.

graphlib.TopologicalSorter does not find what comes before by itself, and goes level by level: all exports
before the first compile. Here one thing is finished before the next begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

__all__ = ["in_order"]


def in_order(names: Iterable[str], before: Callable[[str], Iterable[str]]) -> list[str]:
    """The names and everything before them, each after what `before` gives for it. There must be no cycle."""
    ordered: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in ordered:
            for each in before(name):
                visit(each)
            ordered[name] = None

    for name in names:
        visit(name)
    return list(ordered)
