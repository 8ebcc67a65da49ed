"""Draws the task graph as a Mermaid flowchart, coloured by state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# State -> colour of the box, colour of its border.
_COLORS = {
    "current": ("#d9f0d3", "#4d8c3f"),
    "stale": ("#fdebc0", "#b8860b"),
    "missing": ("#eeeeee", "#888888"),
    "damaged": ("#f8d0d0", "#b03030"),
    "failed": ("#e8b0b0", "#8b0000"),
}


@dataclass(frozen=True)
class GraphNode:
    """A stage in the drawing.

    Attributes:
        name: Name of the stage, unique in the graph.
        title: First line of its box.
        subtitle: Second line.
        state: Third line, which decides about the colour.
        after: Names of the stages that it depends on.
    """

    name: str
    title: str
    subtitle: str
    state: str
    after: tuple[str, ...] = ()


def draw(nodes: Sequence[GraphNode]) -> str:
    """Return the flowchart's text. Nodes come after those that they depend on."""
    ids = {node.name: f"n{index}" for index, node in enumerate(nodes)}
    lines = ["flowchart LR"]
    lines += [
        f'  {ids[n.name]}["{n.title}<br/>{n.subtitle or "&nbsp;"}<br/>{n.state}"]:::{n.state}' for n in nodes
    ]
    lines += [f"  {ids[source]} --> {ids[target]}" for source, target in _reduce_edges(nodes)]
    for state in dict.fromkeys(n.state for n in nodes):
        fill, border = _COLORS[state]
        lines.append(f"  classDef {state} fill:{fill},stroke:{border},color:#222")
    return "\n".join(lines) + "\n"


def _reduce_edges(nodes: Sequence[GraphNode]) -> list[tuple[str, str]]:
    """Compute the transitive reduction: leave out every edge that a longer path implies."""
    ancestors: dict[str, set[str]] = {}
    edges = []
    for node in nodes:
        indirect = set().union(*(ancestors[name] for name in node.after))
        ancestors[node.name] = indirect | set(node.after)
        edges += [(name, node.name) for name in node.after if name not in indirect]
    return edges
