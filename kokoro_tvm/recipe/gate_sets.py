"""Gates by name: `gates: NAME`, or `gates: {extends: NAME}` with what is written over it, is one of the
model's `gate_sets`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kokoro_tvm.recipe._yaml import Entry, Node
from kokoro_tvm.recipe.inherit import extend, without
from kokoro_tvm.words import hint, shorten

__all__ = ["spelled_out", "with_gates"]


def spelled_out(tree: Node) -> Node:
    """The recipe with the mapping that `gates: NAME` is short for, so that differences merge with it."""
    gates = (tree.entries or {}).get("gates")
    if gates is None or not isinstance(gates.value.scalar, str):
        return tree
    return _with(tree, "gates", Node(gates.value.span, entries={"extends": gates}))


def with_gates(tree: Node, model: Node | None) -> Node:
    """The recipe with the numbers of the sets that its gates, and its own sets, extend.

    model: the recipe that has the sets; None where there is none, and then nothing is in their place. Raises
    RecipeError.
    """
    sets = _entries(model, "gate_sets")
    for name in _entries(tree, "gate_sets"):
        tree = _with(tree, "gate_sets", _with(_value(tree, "gate_sets"), name, _whole(sets, name, ())))
    if "gates" not in (tree.entries or {}):
        return tree
    gates = _value(tree, "gates")
    if model is None:
        return _with(tree, "gates", without(gates, "extends") if gates.entries else gates)
    return _with(tree, "gates", extend(gates, lambda name: _named(sets, name, ())))


def _whole(sets: Mapping[str, Entry], name: str, chain: tuple[str, ...]) -> Node:
    return extend(sets[name].value, lambda other: _named(sets, other, (*chain, name)))


def _named(sets: Mapping[str, Entry], name: Node, chain: tuple[str, ...]) -> Node:
    word = str(name.scalar)
    if word in chain:
        circle = " → ".join((*chain[chain.index(word) :], word))
        raise name.span.error(f"`extends` goes in a circle: {circle}")
    if word not in sets:
        advice = hint(word, sorted(set(sets) - set(chain)))
        raise name.span.error(f"the model's `gate_sets` have no `{shorten(word)}`{advice}")
    return _whole(sets, word, chain)


def _entries(tree: Node | None, key: str) -> Mapping[str, Entry]:
    entry = (tree.entries or {}).get(key) if tree else None
    return (entry.value.entries or {}) if entry else {}


def _value(tree: Node, key: str) -> Node:
    return (tree.entries or {})[key].value


def _with(tree: Node, key: str, value: Node) -> Node:
    entries = dict(tree.entries or {})
    return replace(tree, entries=entries | {key: Entry(entries[key].key, value)})
