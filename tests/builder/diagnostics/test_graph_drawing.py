"""The drawing of the task graph."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.builder.diagnostics.graph import GraphNode, _reduce_edges, draw

SMALL = [
    GraphNode("m.checkpoint", "checkpoint", "", "current"),
    GraphNode("cpu.export.bert-512", "export", "bert-512", "stale", ("m.checkpoint",)),
    GraphNode("cpu.pack.bert", "pack", "bert", "missing", ("cpu.export.bert-512", "m.checkpoint")),
]


@st.composite
def graphs(draw_: st.DrawFn) -> list[GraphNode]:
    count = draw_(st.integers(1, 14))
    states = st.sampled_from(["current", "stale", "missing", "damaged", "failed"])
    after = [draw_(st.sets(st.integers(0, i - 1), max_size=4)) if i else set() for i in range(count)]
    return [
        GraphNode(
            f"cpu.{i}", f"stage <{i}>", f"a & b {i}", draw_(states), tuple(f"cpu.{j}" for j in sorted(deps))
        )
        for i, deps in enumerate(after)
    ]


def reach(edges: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the transitive closure of the edges."""
    closure = set(edges)
    while more := {(a, d) for a, b in closure for c, d in edges if b == c} - closure:
        closure |= more
    return closure


def test_draw_writes_mermaid() -> None:
    assert draw(SMALL) == (
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


@given(graphs())
def test_draw_leaves_out_implied_edges(nodes: list[GraphNode]) -> None:
    edges = _reduce_edges(nodes)
    assert reach(edges) == reach([(a, n.name) for n in nodes for a in n.after])
    for edge in edges:
        assert edge not in reach([e for e in edges if e != edge])
