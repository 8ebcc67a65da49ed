"""`matrix`: many recipes of one file, one for every combination of its axes' choices."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product

from kokoro_tvm.recipe._source import Span
from kokoro_tvm.recipe._yaml import Entry, Node
from kokoro_tvm.recipe.gate_sets import spelled_out
from kokoro_tvm.recipe.inherit import merge, without
from kokoro_tvm.words import shorten

__all__ = ["MAX_RECIPES", "members", "nested"]

MAX_RECIPES = 100
"""More are a mistake more often than a wish."""


@dataclass(frozen=True)
class _Axis:
    """A field by its path (`target.mcpu`), and its choices by label."""

    path: str
    span: Span
    choices: Mapping[str, Node]


def members(tree: Node, matrix: Node) -> Iterator[tuple[str, Node, Span]]:
    """Name, content and the place that names it, of every recipe of a file with a `matrix`: labels with `-`
    between them are the name.

    Raises RecipeError, for more than MAX_RECIPES too. Two may have one name.
    """
    if matrix.entries is None:
        raise matrix.span.error(
            "`matrix`: expected a mapping of fields to their choices, {precision: [a, b]}"
        )
    axes = [_axis(path, entry) for path, entry in matrix.entries.items()]
    if not axes:
        raise matrix.span.error("`matrix` needs at least one field with its choices, {precision: [a, b]}")
    count = math.prod(len(axis.choices) for axis in axes)
    if count > MAX_RECIPES:
        raise matrix.span.error(
            f"`matrix` makes {count:,} recipes, more than the most, {MAX_RECIPES}; take choices away, or "
            "write several files"
        )
    base = without(tree, "matrix")
    for labels in product(*(axis.choices for axis in axes)):
        chosen = [
            nested(axis.path, axis.span, axis.choices[label])
            for axis, label in zip(axes, labels, strict=True)
        ]
        content = replace(reduce(merge, map(spelled_out, [base, *chosen])), span=tree.span)
        yield "-".join(labels), content, matrix.span


def nested(path: str, span: Span, value: Node) -> Node:
    """{target: {mcpu: value}} of the path `target.mcpu`, every key of which stands at `span`."""
    for word in reversed(path.split(".")):
        value = Node(span, entries={word: Entry(span, value)})
    return value


def _axis(path: str, entry: Entry) -> _Axis:
    value = entry.value
    if value.entries:
        return _Axis(path, entry.key, {label: each.value for label, each in value.entries.items()})
    if not value.items:
        raise value.span.error(
            f"`matrix.{path}`: expected a list of choices, or a mapping of labels to choices"
        )
    choices: dict[str, Node] = {}
    for item in value.items:
        if item.items is not None or item.entries is not None:
            raise item.span.error(
                f"`matrix.{path}`: a choice that is a list or mapping needs a label: write `LABEL: CHOICE`"
            )
        label = item.scalar if isinstance(item.scalar, str) else json.dumps(item.scalar)
        if label in choices:
            raise item.span.error(f"`matrix.{path}`: `{shorten(label)}` is listed twice; name it once")
        choices[label] = item
    return _Axis(path, entry.key, choices)
