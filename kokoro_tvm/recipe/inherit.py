"""One mapping over another, and `extends`, which names what a mapping is written over."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce

from kokoro_tvm.recipe._yaml import YamlEntry, YamlNode

__all__ = ["extend", "merge", "without"]


def merge(base: YamlNode, over: YamlNode) -> YamlNode:
    """`over` in place of `base`: mappings key by key, lists and scalars (null too) as a whole.

    A mapping is taken as a whole as well where it extends something itself, or says it is of another `kind`,
    whose keys would be others.
    """
    if base.entries is None or over.entries is None or _begins_anew(base, over):
        return replace(over, over=base)
    entries = dict(base.entries)
    for key, entry in over.entries.items():
        inherited = entries.get(key)
        value = merge(inherited.value, entry.value) if inherited else entry.value
        entries[key] = YamlEntry(entry.key, value)
    return replace(over, entries=entries)


def extend(node: YamlNode, find: Callable[[YamlNode], YamlNode]) -> YamlNode:
    """`node` over what its key `extends` names, and of these a later one over an earlier one.

    find: from a name's node to what it names. Raises RecipeError for anything but names.
    """
    names = (node.entries or {}).get("extends")
    if names is None:
        return node
    return reduce(merge, [*map(find, _names(names.value)), without(node, "extends")])


def without(node: YamlNode, *keys: str) -> YamlNode:
    """The mapping without some keys."""
    entries = node.entries or {}
    return replace(node, entries={key: entry for key, entry in entries.items() if key not in keys})


def _begins_anew(base: YamlNode, over: YamlNode) -> bool:
    assert base.entries is not None
    assert over.entries is not None
    if "extends" in over.entries:
        return True
    before, now = base.entries.get("kind"), over.entries.get("kind")
    return before is not None and now is not None and before.value.scalar != now.value.scalar


def _names(value: YamlNode) -> Iterable[YamlNode]:
    names = [value] if value.items is None else value.items
    for name in names:
        if not isinstance(name.scalar, str):
            raise name.span.error("`extends`: expected a name, or a list of names, [a, b]")
    if not names:
        raise value.span.error("`extends`: needs at least 1 item")
    return names
