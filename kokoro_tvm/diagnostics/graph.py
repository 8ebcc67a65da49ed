"""Draws the task graph as Mermaid, DOT or SVG, coloured by state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal
from xml.sax.saxutils import escape

__all__ = ["Format", "Node", "draw"]

Format = Literal["mermaid", "dot", "svg"]

# state -> what fills its box, what borders it
_COLORS = {
    "current": ("#d9f0d3", "#4d8c3f"),
    "stale": ("#fdebc0", "#b8860b"),
    "missing": ("#eeeeee", "#888888"),
    "damaged": ("#f8d0d0", "#b03030"),
    "failed": ("#e8b0b0", "#8b0000"),
}
_BOX, _LINE, _ACROSS, _DOWN = (176, 40), 15, 60, 14  # px: a box, a line of text, gaps between boxes
_SWEEPS = 8


@dataclass(frozen=True)
class Node:
    """A stage: `name` tells it from others, `title` and `subtitle` are what the box shows."""

    name: str
    title: str
    subtitle: str
    state: str
    after: tuple[str, ...] = ()


def draw(nodes: Sequence[Node], form: Format) -> str:
    """The picture as text. Nodes come after those they depend on; an edge that others imply is left out."""
    edges = _reduced(nodes)
    return {"mermaid": _mermaid, "dot": _dot, "svg": _svg}[form](nodes, edges)


def _reduced(nodes: Sequence[Node]) -> list[tuple[str, str]]:
    """The edges that no longer way stands for."""
    above: dict[str, set[str]] = {}
    edges = []
    for node in nodes:
        indirect = set().union(*(above[name] for name in node.after))
        above[node.name] = indirect | set(node.after)
        edges += [(name, node.name) for name in node.after if name not in indirect]
    return edges


def _mermaid(nodes: Sequence[Node], edges: Sequence[tuple[str, str]]) -> str:
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


def _dot(nodes: Sequence[Node], edges: Sequence[tuple[str, str]]) -> str:
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


def _svg(nodes: Sequence[Node], edges: Sequence[tuple[str, str]]) -> str:
    places, ways = _layout(nodes, edges)
    width = max(x for x, _ in places.values()) + _BOX[0] + 20
    height = max(y for _, y in places.values()) + _BOX[1] + 50
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        *(_curve([places[stop] for stop in way]) for way in ways),
    ]
    for node in nodes:
        lines += _box(node, *places[node.name])
    for index, state in enumerate(dict.fromkeys(n.state for n in nodes)):
        x, (fill, line) = 20 + index * 90, _COLORS[state]
        lines.append(
            f'<rect x="{x}" y="{height - 26}" width="12" height="12" rx="3" fill="{fill}" stroke="{line}"/>'
            f'<text x="{x + 18}" y="{height - 16}" fill="#222">{escape(state)}</text>'
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _box(node: Node, x: int, y: int) -> list[str]:
    fill, line = _COLORS[node.state]
    # The usual state is in the legend only; others are written out, too, for who sees no colours.
    below = " · ".join(filter(None, (node.subtitle, "" if node.state == "current" else node.state)))
    texts = [node.title, below] if below else [node.title]
    first = y + _BOX[1] // 2 + 4 - (len(texts) - 1) * _LINE // 2
    made = [
        f'<rect x="{x}" y="{y}" width="{_BOX[0]}" height="{_BOX[1]}" rx="6" fill="{fill}" stroke="{line}">'
        f"<title>{escape(node.name)}: {escape(node.state)}</title></rect>"
    ]
    for index, text in enumerate(texts):
        weight = ' font-weight="bold"' if index == 0 else ""
        made.append(
            f'<text x="{x + _BOX[0] // 2}" y="{first + index * _LINE}" text-anchor="middle" '
            f'fill="#222"{weight}>{escape(text)}</text>'
        )
    return made


def _curve(stops: Sequence[tuple[int, int]]) -> str:
    """From a box to a later one, straight through the columns between them."""
    middle = _BOX[1] // 2
    x, y = stops[0][0] + _BOX[0], stops[0][1] + middle
    path = [f"M{x} {y}"]
    for left, top in stops[1:]:
        bend, end = (left - x) // 2, top + middle
        path.append(f"C{x + bend} {y} {left - bend} {end} {left} {end}")
        x, y = left + _BOX[0], end
        path.append(f"H{x}")
    return f'<path d="{"".join(path[:-1])}" fill="none" stroke="#999"/>'


_Stop = str | tuple[str, str, int]  # a stage, or where the edge between two passes a column


def _layout(
    nodes: Sequence[Node], edges: Sequence[tuple[str, str]]
) -> tuple[dict[_Stop, tuple[int, int]], list[list[_Stop]]]:
    """Upper left corners, and the stops of every edge. Columns by the longest way to a stage.

    Sugiyama's layered drawing: an edge that passes a column has a stop there, and sweeps in both directions
    sort every column by the mean of what its members are joined to.
    """
    rank: dict[str, int] = {}
    for node in nodes:
        rank[node.name] = max((rank[a] + 1 for a, b in edges if b == node.name), default=0)
    ways: list[list[_Stop]] = [[a, *((a, b, r) for r in range(rank[a] + 1, rank[b])), b] for a, b in edges]
    columns: list[list[_Stop]] = [[] for _ in range(max(rank.values()) + 1)]
    for node in nodes:
        columns[rank[node.name]].append(node.name)
    before: dict[_Stop, list[_Stop]] = {}
    behind: dict[_Stop, list[_Stop]] = {}
    for way in ways:
        for stop, following in pairwise(way):
            behind.setdefault(stop, []).append(following)
            before.setdefault(following, []).append(stop)
        for index, stop in enumerate(way[1:-1], rank[str(way[0])] + 1):
            columns[index].append(stop)
    row = {stop: float(index) for column in columns for index, stop in enumerate(column)}
    for sweep in range(_SWEEPS):
        ordered, near = (columns, before) if sweep % 2 == 0 else (columns[::-1], behind)
        for column in ordered:
            wanted = {s: _mean([row[o] for o in near.get(s, ())], row[s]) for s in column}
            row |= _apart(column, wanted)
    top, step, across = min(row.values()), _BOX[1] + _DOWN, _BOX[0] + _ACROSS
    places = {
        stop: (20 + index * across, 20 + round((row[stop] - top) * step))
        for index, column in enumerate(columns)
        for stop in column
    }
    return places, ways


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _apart(column: Sequence[_Stop], wanted: dict[_Stop, float]) -> dict[_Stop, float]:
    """Rows far enough apart, in the order wanted, the column's middle where its members want it."""
    ordered = sorted(column, key=lambda stop: wanted[stop])
    rows: list[float] = []
    for index, stop in enumerate(ordered):
        least = rows[-1] + (_height(ordered[index - 1]) + _height(stop)) / 2 if rows else wanted[stop]
        rows.append(max(wanted[stop], least))
    shift = _mean([wanted[stop] for stop in ordered], 0) - _mean(rows, 0)
    return {stop: place + shift for stop, place in zip(ordered, rows, strict=True)}


def _height(stop: _Stop) -> float:
    return 1.0 if isinstance(stop, str) else 0.2
