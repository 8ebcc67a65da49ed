"""The task graph as a picture."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kokoro_tvm.diagnostics.graph import Node, _reduced, draw
from kokoro_tvm.project.graph import RecipeGraph
from kokoro_tvm.recipe import load_recipe

ROOT = Path(__file__).parents[2]
SMALL = [
    Node("m.checkpoint", "checkpoint", "", "current"),
    Node("cpu.export.bert-512", "export", "bert-512", "stale", ("m.checkpoint",)),
    Node("cpu.pack.bert", "pack", "bert", "missing", ("cpu.export.bert-512", "m.checkpoint")),
]


@st.composite
def graphs(draw_: st.DrawFn) -> list[Node]:
    count = draw_(st.integers(1, 14))
    states = st.sampled_from(["current", "stale", "missing", "damaged", "failed"])
    after = [draw_(st.sets(st.integers(0, i - 1), max_size=4)) if i else set() for i in range(count)]
    return [
        Node(f"cpu.{i}", f"stage <{i}>", f"a & b {i}", draw_(states), tuple(f"cpu.{j}" for j in sorted(deps)))
        for i, deps in enumerate(after)
    ]


def reach(edges: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """Who can be come to from whom."""
    found = set(edges)
    while more := {(a, d) for a, b in found for c, d in edges if b == c} - found:
        found |= more
    return found


def test_mermaid() -> None:
    assert draw(SMALL, "mermaid") == (
        "flowchart LR\n"
        '  n0["checkpoint<br/>&nbsp;<br/>current"]:::current\n'
        '  n1["export<br/>bert-512<br/>stale"]:::stale\n'
        '  n2["pack<br/>bert<br/>missing"]:::missing\n'
        "  n0 --> n1\n"
        "  n1 --> n2\n"
        "  classDef current fill:#d9f0d3,stroke:#4d8c3f,color:#222\n"
        "  classDef stale fill:#fdebc0,stroke:#b8860b,color:#222\n"
        "  classDef missing fill:#eeeeee,stroke:#888888,color:#222\n"
    )


def test_dot() -> None:
    result = draw(SMALL, "dot")
    assert result.startswith("digraph build {\n  rankdir=LR;\n")
    assert (
        '  "cpu.pack.bert" [label="pack\\nbert\\nmissing", fillcolor="#eeeeee", color="#888888"];' in result
    )
    assert re.findall(r'"(.*)" -> "(.*)";', result) == [
        ("m.checkpoint", "cpu.export.bert-512"),
        ("cpu.export.bert-512", "cpu.pack.bert"),
    ]
    assert result.count("{") == result.count("}")


@given(graphs())
def test_an_edge_that_others_imply_is_left_out(nodes: list[Node]) -> None:
    edges = _reduced(nodes)
    assert reach(edges) == reach([(a, n.name) for n in nodes for a in n.after])
    for edge in edges:
        assert edge not in reach([e for e in edges if e != edge])


def boxes(svg: str) -> dict[str, tuple[int, int, int, int]]:
    """name -> left, top, right, bottom"""
    found = {}
    for rect in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}rect"):
        title = rect.find("{http://www.w3.org/2000/svg}title")
        if title is not None:
            x, y, w, h = (int(rect.attrib[k]) for k in ("x", "y", "width", "height"))
            found[str(title.text)] = (x, y, x + w, y + h)
    return found


@settings(max_examples=50)
@given(graphs())
def test_boxes_keep_apart_inside_the_picture_and_after_what_they_need(nodes: list[Node]) -> None:
    svg = draw(nodes, "svg")
    assert svg == draw(nodes, "svg")
    found = boxes(svg)
    assert list(found) == [f"{n.name}: {n.state}" for n in nodes]
    root = ET.fromstring(svg)
    for a, b in itertools.combinations(found.values(), 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    assert all(min(x0, y0) >= 0 for x0, y0, _, _ in found.values())
    assert max(b[2] for b in found.values()) <= int(root.attrib["width"])
    assert max(b[3] for b in found.values()) <= int(root.attrib["height"])
    place = dict(zip((n.name for n in nodes), found.values(), strict=True))
    for node in nodes:
        assert all(place[name][2] < place[node.name][0] for name in node.after)


@pytest.mark.parametrize("recipe", ["cpu"])
def test_a_recipe(recipe: str, tmp_path: Path) -> None:
    """No line is drawn over a box."""
    graph = RecipeGraph(load_recipe(recipe, ROOT / "recipes"), tmp_path, ROOT)
    nodes = [Node(s.name, s.name, "", "current", tuple(a.name for a in s.after)) for s in graph.stages()]
    svg = draw(nodes, "svg")
    found = boxes(svg)
    assert len(found) == len(nodes)
    straight = re.findall(r"C[\d -]+ (\d+) (\d+)H(\d+)", svg)
    assert straight
    for x0, y, x1 in straight:
        for left, top, right, bottom in found.values():
            assert int(x1) <= left or right <= int(x0) or not top < int(y) < bottom
