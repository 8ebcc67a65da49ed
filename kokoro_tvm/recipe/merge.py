"""Merging of YAML trees: a mapping over another, and `extends`, which names what it is written over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

from kokoro_tvm.common.words import hint, shorten
from kokoro_tvm.common.yaml_file import YamlNode


def merge(base: YamlNode, over: YamlNode) -> YamlNode:
    """Put `over` in place of `base`: mappings key by key, lists and scalars (null too) as a whole.

    A mapping with `extends`, or of another `kind`, replaces the whole: other keys belong to it.
    """
    is_mapping = isinstance(base.value, dict) and isinstance(over.value, dict)
    before, after = base.get("kind"), over.get("kind")
    is_other_kind = before is not None and after is not None and before.value != after.value
    if not is_mapping or is_other_kind or "extends" in over.entries:
        return _set_base(over, base)
    entries = dict(base.entries)
    for key, node in over.entries.items():
        entries[key] = merge(entries[key], node) if key in entries else node
    return replace(over, value=entries)


def extend(
    node: YamlNode, find: Callable[[YamlNode, tuple[str, ...]], YamlNode], chain: tuple[str, ...] = ()
) -> YamlNode:
    """Merge a mapping over what its `extends` names, and these over what they extend; later names win.

    Args:
        node: The mapping.
        find: Returns the mapping of a name; its second argument is `chain`.
        chain: Names that led here.

    Raises:
        RecipeError: `extends` holds something else than names, or goes in a circle.
    """
    names = node.get("extends")
    if names is None:
        return node
    trees = []
    for name in names.items if isinstance(names.value, list) else [names]:
        word = name.value
        if not isinstance(word, str):
            raise name.span.error("`extends`: expected a name, or a list of names, [a, b]")
        if word in chain:
            circle = " → ".join((*chain[chain.index(word) :], word))
            raise name.span.error(f"`extends` goes in a circle: {circle}")
        trees.append(extend(find(name, chain), find, (*chain, word)))
    if not trees:
        raise names.span.error("`extends`: needs at least 1 item")
    return reduce(merge, [*trees, without(node, "extends")])


def without(node: YamlNode, *keys: str) -> YamlNode:
    """Return the mapping without some keys."""
    return replace(node, value={key: entry for key, entry in node.entries.items() if key not in keys})


def nest(path: str, value: YamlNode) -> YamlNode:
    """Return {target: {mcpu: value}} for the path `target.mcpu`; every key has the place of `value.key`."""
    for word in reversed(path.split(".")):
        value = YamlNode(value.key, {word: value}, value.key)
    return value


def expand_gates_name(tree: YamlNode) -> YamlNode:
    """Replace `gates: NAME` by `gates: {extends: NAME}`, so that differences merge with it."""
    gates = tree.get("gates")
    if gates is None or not isinstance(gates.value, str):
        return tree
    return _set_key(tree, "gates", YamlNode(gates.span, {"extends": gates}, gates.key))


def resolve_gates(tree: YamlNode, model: YamlNode) -> YamlNode:
    """Return a recipe with complete gates: over the model's `gate_sets` that they extend, and its `gates`.

    A target recipe that names no set extends the one called as its precision. Raises
    RecipeError for an unknown set.
    """
    sets = {} if (whole := model.get("gate_sets")) is None else whole.entries

    def find(name: YamlNode, chain: tuple[str, ...]) -> YamlNode:
        """Return the model's set of gates of a name. Raises RecipeError for an unknown name."""
        word = str(name.value)
        if word not in sets:
            advice = hint(word, sorted(set(sets) - set(chain)))
            raise name.span.error(f"the model's `gate_sets` have no `{shorten(word)}`{advice}")
        return sets[word]

    base = model.get("gates")
    if base is None:
        return tree
    base = extend(base, find)
    if tree is model:
        complete = {name: merge(base, extend(node, find, (name,))) for name, node in sets.items()}
        tree = _set_key(tree, "gate_sets", replace(whole, value=complete)) if whole and complete else tree
        return _set_key(tree, "gates", base)
    gates, precision = tree.get("gates"), tree.get("precision")
    names_set = gates is not None and (not isinstance(gates.value, dict) or "extends" in gates.entries)
    if precision is not None and str(precision.value) in sets and not names_set:
        key = precision.key if gates is None else gates.key
        gates = gates or YamlNode(key, {}, key)
        gates = _set_key(gates, "extends", replace(precision, key=key))
    return tree if gates is None else _set_key(tree, "gates", merge(base, extend(gates, find)))


def _set_base(over: YamlNode, base: YamlNode) -> YamlNode:
    """Return `over`, with `base` recorded as the node that it replaces."""
    return replace(over, base=base if over.base is None else _set_base(over.base, base))


def _set_key(tree: YamlNode, key: str, value: YamlNode) -> YamlNode:
    """Return a mapping with a key set."""
    return replace(tree, value=tree.entries | {key: value})
