"""Gates by name: `gates: NAME`, or `gates: {extends: NAME}` with what is written over it, is one of the
model's `gate_sets`. A target recipe that names none has the set of its precision's name, if there is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kokoro_tvm.common.words import hint, shorten
from kokoro_tvm.recipe._yaml import YamlEntry, YamlNode
from kokoro_tvm.recipe.inherit import extend, merge, without

__all__ = ["gates_of_other_precision", "spelled_out", "whole_gates", "with_gates"]


def spelled_out(tree: YamlNode) -> YamlNode:
    """The recipe with the mapping that `gates: NAME` is short for, so that differences merge with it."""
    gates = tree.get("gates")
    if gates is None or not isinstance(gates.scalar, str):
        return tree
    assert tree.entries is not None
    return _with(tree, "gates", YamlNode(gates.span, entries={"extends": tree.entries["gates"]}))


def with_gates(tree: YamlNode, model: YamlNode) -> YamlNode:
    """The recipe with the numbers of the sets that its gates, and its own sets, extend.

    model: the recipe that has the sets. Raises RecipeError.
    """
    sets = _sets(model)
    if tree is model:
        tree = _with_sets(tree, {name: _whole(sets, name, ()) for name in sets})
    else:
        tree = _with_precision(tree, sets)
    gates = tree.get("gates")
    if gates is None:
        return tree
    return _with(tree, "gates", extend(gates, lambda name: _named(sets, name, ())))


def gates_of_other_precision(tree: YamlNode, model: YamlNode) -> str | None:
    """Return a warning if a target recipe is judged by gates that no one wrote for its precision."""
    precision = tree.get("precision")
    if precision is None or precision.scalar in ("float32", *_sets(model)) or tree.get("gates") is not None:
        return None
    return precision.span.message(
        f"`precision`: the gates are the model's, which are for float32, since its `gate_sets` have no "
        f"`{precision.scalar}`; write `gates`"
    )


def whole_gates(tree: YamlNode, model: YamlNode) -> YamlNode:
    """The recipe with its gates, and its sets of them, over the model's gates: both of what `with_gates`
    gives."""
    base, gates = model.get("gates"), tree.get("gates")
    if base is None or base.entries is None:
        return tree if tree is model else without(tree, "gates")  # the fault is the model's
    if tree is model:
        tree = _with_sets(tree, {name: merge(base, one) for name, one in _sets(tree).items()})
    return tree if gates is None else _with(tree, "gates", merge(base, gates))


def _with_precision(tree: YamlNode, sets: Mapping[str, YamlNode]) -> YamlNode:
    """A target recipe whose gates, unless they name a set, extend that of its precision."""
    precision, gates = tree.get("precision"), tree.get("gates")
    if precision is None or precision.scalar not in sets or (gates is not None and gates.entries is None):
        return tree
    assert tree.entries is not None
    entries = {} if gates is None else dict(gates.entries or {})
    if "extends" in entries:
        return tree
    entry = tree.entries["precision"]
    key = entry.key if gates is None else tree.entries["gates"].key
    entries["extends"] = YamlEntry(key, precision)
    gates = YamlNode(key, entries=entries) if gates is None else replace(gates, entries=entries)
    return replace(tree, entries=tree.entries | {"gates": YamlEntry(key, gates)})


def _sets(tree: YamlNode) -> Mapping[str, YamlNode]:
    sets = tree.get("gate_sets")
    return {name: entry.value for name, entry in (sets.entries or {}).items()} if sets else {}


def _with_sets(tree: YamlNode, sets: Mapping[str, YamlNode]) -> YamlNode:
    whole = tree.get("gate_sets")
    if whole is None:
        return tree
    for name, one in sets.items():
        whole = _with(whole, name, one)
    return _with(tree, "gate_sets", whole)


def _with(tree: YamlNode, key: str, value: YamlNode) -> YamlNode:
    entries = dict(tree.entries or {})
    return replace(tree, entries=entries | {key: YamlEntry(entries[key].key, value)})


def _whole(sets: Mapping[str, YamlNode], name: str, chain: tuple[str, ...]) -> YamlNode:
    return extend(sets[name], lambda other: _named(sets, other, (*chain, name)))


def _named(sets: Mapping[str, YamlNode], name: YamlNode, chain: tuple[str, ...]) -> YamlNode:
    word = str(name.scalar)
    if word in chain:
        circle = " → ".join((*chain[chain.index(word) :], word))
        raise name.span.error(f"`extends` goes in a circle: {circle}")
    if word not in sets:
        advice = hint(word, sorted(set(sets) - set(chain)))
        raise name.span.error(f"the model's `gate_sets` have no `{shorten(word)}`{advice}")
    return _whole(sets, word, chain)
