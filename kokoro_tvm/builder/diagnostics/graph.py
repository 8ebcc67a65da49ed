"""Draws the task graph as Mermaid or DOT, coloured by state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Format", "GraphNode", "draw"]

Format = Literal["mermaid", "dot"]

# state -> what fills its box, what borders it
_COLORS = {
    "current": ("#d9f0d3", "#4d8c3f"),
    "stale": ("#fdebc0", "#b8860b"),
    "missing": ("#eeeeee", "#888888"),
    "damaged": ("#f8d0d0", "#b03030"),
    "failed": ("#e8b0b0", "#8b0000"),
}


@dataclass(frozen=True)
class GraphNode:
    """A stage: `name` tells it from others, `title` and `subtitle` are what the box shows."""

    name: str
    title: str
    subtitle: str
    state: str
    after: tuple[str, ...] = ()


def draw(nodes: Sequence[GraphNode], form: Format) -> str:
    """The picture as text. Nodes come after those they depend on; an edge that others imply is left out."""
    edges = _reduced(nodes)
    return {"mermaid": _mermaid, "dot": _dot}[form](nodes, edges)


def _reduced(nodes: Sequence[GraphNode]) -> list[tuple[str, str]]:
    """The edges that no longer way stands for."""
    above: dict[str, set[str]] = {}
    edges = []
    for node in nodes:
        indirect = set().union(*(above[name] for name in node.after))
        above[node.name] = indirect | set(node.after)
        edges += [(name, node.name) for name in node.after if name not in indirect]
    return edges


def _mermaid(nodes: Sequence[GraphNode], edges: Sequence[tuple[str, str]]) -> str:
    number = {node.name: f"n{index}" for index, node in enumerate(nodes)}
    lines = ["flowchart LR"]
    lines += [
        f'  {number[n.name]}["{n.title}<br/>{n.subtitle or "&nbsp;"}<br/>{n.state}"]:::{n.state}'
        for n in nodes
    ]
    lines += [f"  {number[a]} --> {number[b]}" for a, b in edges]
    for state in dict.fromkeys(n.state for n in nodes):
        fill, line = _COLORS[state]
        lines.append(f"  classDef {state} fill:{fill},stroke:{line},color:#222")
    return "\n".join(lines) + "\n"


def _dot(nodes: Sequence[GraphNode], edges: Sequence[tuple[str, str]]) -> str:
    lines = [
        "digraph build {",
        "  rankdir=LR;",
        '  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=11];',
    ]
    for n in nodes:
        fill, line = _COLORS[n.state]
        shown = "\\n".join(filter(None, (n.title, n.subtitle, n.state)))
        lines.append(f'  "{n.name}" [label="{shown}", fillcolor="{fill}", color="{line}"];')
    lines += [f'  "{a}" -> "{b}";' for a, b in edges]
    return "\n".join([*lines, "}"]) + "\n"
