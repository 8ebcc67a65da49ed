"""`matrix`: many recipes of one file, one for every combination of its choices."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from kokoro_tvm.common.words import shorten
from kokoro_tvm.common.yaml_file import YamlNode
from kokoro_tvm.recipe.merge import expand_gates_name, merge, nest, without

__all__ = ["expand_matrix"]


def expand_matrix(tree: YamlNode, matrix: YamlNode) -> Iterator[tuple[str, YamlNode]]:
    """Yield name and content of every recipe of a file with a `matrix`. Raises RecipeError."""
    if not matrix.entries:
        raise matrix.span.error(
            "`matrix`: expected a mapping of fields to their choices, {precision: [a, b]}"
        )
    if "extends" in tree.entries and "extends" in matrix.entries:
        key = matrix.entries["extends"].key
        raise key.error("`matrix.extends`: the file has `extends` too; keep one")
    axes = [
        [(label, path, choice) for label, choice in _choices(path, node).items()]
        for path, node in matrix.entries.items()
    ]
    for combination in product(*axes):
        member = without(tree, "matrix")
        for _, path, choice in combination:
            member = _choose(member, path, choice)
        yield "-".join(label for label, _, _ in combination), replace(member, span=tree.span)


def _choose(tree: YamlNode, path: str, choice: YamlNode) -> YamlNode:
    if path == "extends":  # `merge` would drop the fields of the file, which are written over what it extends
        return replace(tree, value=tree.entries | {"extends": choice})
    return merge(tree, expand_gates_name(nest(path, choice)))


def _choices(path: str, axis: YamlNode) -> dict[str, YamlNode]:
    """Return the choices of a field by label."""
    choices: dict[str, YamlNode] = {}
    for item in axis.items:
        if isinstance(item.value, dict | list):
            message = "a choice that is a list or mapping needs a label: write `LABEL: CHOICE`"
            raise item.span.error(f"`matrix.{path}`: {message}")
        label = item.value if isinstance(item.value, str) else json.dumps(item.value)
        if label in choices:
            raise item.span.error(f"`matrix.{path}`: `{shorten(label)}` is listed twice; name it once")
        choices[label] = item
    # A choice stands for its field: what is wrong with the field's name is shown there.
    choices = {label: replace(node, key=axis.key) for label, node in (choices or axis.entries).items()}
    if not choices:
        message = "expected a list of choices, or a mapping of labels to choices"
        raise axis.span.error(f"`matrix.{path}`: {message}")
    return choices
