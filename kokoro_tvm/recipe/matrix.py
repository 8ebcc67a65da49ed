"""`matrix`: many recipes of one file, one for every combination of its axes' choices."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product

from kokoro_tvm.common.words import hint, shorten
from kokoro_tvm.recipe._source import Span
from kokoro_tvm.recipe._yaml import YamlEntry, YamlNode
from kokoro_tvm.recipe.gate_sets import spelled_out
from kokoro_tvm.recipe.inherit import merge, without

__all__ = ["MAX_RECIPES", "members", "nested"]

MAX_RECIPES = 100
"""More are a mistake more often than a wish."""

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_NOT_AXES = ("name", "exclude")


@dataclass(frozen=True)
class _Axis:
    """A field by its path (`target.mcpu`), and its choices by label."""

    path: str
    span: Span
    choices: Mapping[str, YamlNode]

    @property
    def word(self) -> str:
        """Its short name: the last word of the path."""
        return self.path.rpartition(".")[2]


def members(tree: YamlNode, matrix: YamlNode) -> Iterator[tuple[str, YamlNode, Span]]:
    """Name, content and the place that names it, of every recipe of a file with a `matrix`.

    Raises RecipeError, for more than MAX_RECIPES too. Two may have one name.
    """
    if matrix.entries is None:
        raise matrix.span.error(
            "`matrix`: expected a mapping of fields to their choices, {precision: [a, b]}"
        )
    axes = [_axis(path, entry) for path, entry in matrix.entries.items() if path not in _NOT_AXES]
    if not axes:
        raise matrix.span.error("`matrix` needs at least one field with its choices, {precision: [a, b]}")
    count = math.prod(len(axis.choices) for axis in axes)
    if count > MAX_RECIPES:
        raise matrix.span.error(
            f"`matrix` makes {count:,} recipes, more than the most, {MAX_RECIPES}; take choices away, or "
            "write several files"
        )
    template = matrix.get("name") or YamlNode(matrix.span, "-".join(f"{{{axis.path}}}" for axis in axes))
    places = _places(template, axes)
    excluded = _excluded(matrix, axes)
    base = without(tree, "matrix")
    if "extends" in (base.entries or {}) and "extends" in matrix.entries:
        raise matrix.entries["extends"].key.error("`matrix.extends`: the file has `extends` too; keep one")
    found = 0
    for labels in product(*(axis.choices for axis in axes)):
        if any(all(labels[i] == label for i, label in each.items()) for each in excluded):
            continue
        found += 1
        chosen = [(axis, axis.choices[label]) for axis, label in zip(axes, labels, strict=True)]
        content = replace(reduce(_choose, chosen, spelled_out(base)), span=tree.span)
        word = str(template.scalar)
        for placeholder, place in places.items():
            word = word.replace(f"{{{placeholder}}}", labels[place])
        yield word, content, template.span
    if not found:
        raise matrix.entries["exclude"].key.error("`exclude` leaves no recipe of the matrix")


def _choose(tree: YamlNode, choice: tuple[_Axis, YamlNode]) -> YamlNode:
    """Put one choice of an axis over a recipe."""
    axis, value = choice
    if (
        axis.path == "extends"
    ):  # `merge` would drop the recipe's own fields, which are written over what it extends
        return replace(tree, entries=(tree.entries or {}) | {"extends": YamlEntry(axis.span, value)})
    return merge(tree, spelled_out(nested(axis.path, axis.span, value)))


def nested(path: str, span: Span, value: YamlNode) -> YamlNode:
    """{target: {mcpu: value}} of the path `target.mcpu`, every key of which stands at `span`."""
    for word in reversed(path.split(".")):
        value = YamlNode(span, entries={word: YamlEntry(span, value)})
    return value


def _axis(path: str, entry: YamlEntry) -> _Axis:
    value = entry.value
    if value.entries:
        return _Axis(path, entry.key, {label: each.value for label, each in value.entries.items()})
    if not value.items:
        raise value.span.error(
            f"`matrix.{path}`: expected a list of choices, or a mapping of labels to choices"
        )
    choices: dict[str, YamlNode] = {}
    for item in value.items:
        if item.items is not None or item.entries is not None:
            raise item.span.error(
                f"`matrix.{path}`: a choice that is a list or mapping needs a label: write `LABEL: CHOICE`"
            )
        label = _label(item)
        if label in choices:
            raise item.span.error(f"`matrix.{path}`: `{shorten(label)}` is listed twice; name it once")
        choices[label] = item
    return _Axis(path, entry.key, choices)


def _label(choice: YamlNode) -> str:
    return choice.scalar if isinstance(choice.scalar, str) else json.dumps(choice.scalar)


def _places(template: YamlNode, axes: Sequence[_Axis]) -> dict[str, int]:
    """Placeholder -> number of the axis that it stands for."""
    if not isinstance(template.scalar, str):
        raise template.span.error('`matrix.name`: expected text such as "{mcpu}-{precision}"')
    return {
        word: _number(word, axes, template.span, "matrix.name")
        for word in _PLACEHOLDER.findall(template.scalar)
    }


def _number(word: str, axes: Sequence[_Axis], span: Span, where: str) -> int:
    """The axis of a path, or of its last word where no other has that."""
    found = [i for i, axis in enumerate(axes) if axis.path == word]
    found = found or [i for i, axis in enumerate(axes) if axis.word == word]
    if not found:
        raise span.error(
            f"`{where}`: no axis is called `{shorten(word)}`{hint(word, [a.word for a in axes])}"
        )
    if len(found) > 1:
        both = " and ".join(f"`{axes[i].path}`" for i in found)
        raise span.error(f"`{where}`: `{word}` may be {both}; write the whole path")
    return found[0]


def _excluded(matrix: YamlNode, axes: Sequence[_Axis]) -> list[dict[int, str]]:
    """Combinations that are left out: number of an axis -> its label; other axes may have any."""
    exclude = matrix.get("exclude")
    if exclude is None:
        return []
    found = []
    for each in exclude.items or [exclude]:
        if not each.entries:
            raise each.span.error("`matrix.exclude`: expected a list of combinations, [{precision: float32}]")
        combination: dict[int, str] = {}
        for word, choice in each.entries.items():
            number = _number(word, axes, choice.key, "matrix.exclude")
            label, known = _label(choice.value), axes[number].choices
            if label not in known:
                advice = hint(label, list(known))
                raise choice.value.span.error(
                    f"`matrix.exclude`: `{word}` has no choice `{shorten(label)}`{advice}"
                )
            combination[number] = label
        found.append(combination)
    return found
