"""Depth-first topological order."""

from __future__ import annotations

from collections.abc import Callable, Iterable


# graphlib.TopologicalSorter goes level by level (all exports before the first compile), and needs the whole
# graph.
def in_order(names: Iterable[str], before: Callable[[str], Iterable[str]]) -> list[str]:
    """Return the names and their transitive dependencies, each after its own (`before`). No cycles."""
    ordered: dict[str, None] = {}

    def visit(name: str) -> None:
        """Add a name, after its dependencies."""
        if name not in ordered:
            for dependency in before(name):
                visit(dependency)
            ordered[name] = None

    for name in names:
        visit(name)
    return list(ordered)
