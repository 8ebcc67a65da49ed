"""Topological order."""

from __future__ import annotations

from kokoro_tvm.builder.engine.order import in_order

BEFORE = {"bundle": ["b", "a"], "a": ["weights"], "b": ["weights", "a"], "weights": [], "other": []}


def test_in_order_lists_dependencies_first() -> None:
    assert in_order(["bundle"], BEFORE.__getitem__) == ["weights", "a", "b", "bundle"]
    assert in_order(["other", "a", "other"], BEFORE.__getitem__) == ["other", "weights", "a"]
    assert in_order([], BEFORE.__getitem__) == []
