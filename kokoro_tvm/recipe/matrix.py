"""`matrix`: many recipes of one file, one for every combination of its choices."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import product

from kokoro_tvm.common.words import hint, shorten
from kokoro_tvm.common.yaml_file import Span, YamlNode
from kokoro_tvm.recipe.merge import expand_gates_name, merge, nest, without

_OPTIONS = ("name", "exclude")  # keys of a matrix that are no fields
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def expand_matrix(tree: YamlNode, matrix: YamlNode) -> Iterator[tuple[str, YamlNode]]:
    """Yield name and content of every recipe of a file with a `matrix`.

    Raises RecipeError for an invalid one.
    """
    if not matrix.entries:
        raise matrix.span.error(
            "`matrix`: expected a mapping of fields to their choices, {precision: [a, b]}"
        )
    if "extends" in tree.entries and "extends" in matrix.entries:
        key = matrix.entries["extends"].key
        raise key.error("`matrix.extends`: the file has `extends` too; keep one")
    axes = {path: _list_choices(path, node) for path, node in matrix.entries.items() if path not in _OPTIONS}
    if not axes:
        raise matrix.span.error("`matrix` needs at least one field with its choices, {precision: [a, b]}")
    template, exclude = _read_name(matrix, axes), list(_read_exclude(matrix, axes))
    for labels in product(*axes.values()):
        chosen = dict(zip(axes, labels, strict=True))
        if any(rule.items() <= chosen.items() for rule in exclude):
            continue
        member = without(tree, "matrix")
        for path, label in chosen.items():
            member = _apply_choice(member, path, axes[path][label])
        name = template
        for word in _PLACEHOLDER.findall(template):
            name = name.replace(f"{{{word}}}", chosen[_find_axis(word, axes)])
        yield name, replace(member, span=tree.span)


def _read_name(matrix: YamlNode, axes: Mapping[str, Mapping[str, YamlNode]]) -> str:
    """Return the template of names: `name` of the matrix, else a `{FIELD}` for each axis, joined by `-`.

    Raises RecipeError if `name` is no text, or a word in its braces is no axis.
    """
    node = matrix.get("name")
    if node is None:
        return "-".join(f"{{{path}}}" for path in axes)
    if not isinstance(node.value, str):
        raise node.span.error('`matrix.name`: expected text such as "{mcpu}-{precision}"')
    for word in _PLACEHOLDER.findall(node.value):
        _require_axis(word, axes, node.span, "matrix.name")
    return node.value


def _read_exclude(matrix: YamlNode, axes: Mapping[str, Mapping[str, YamlNode]]) -> Iterator[dict[str, str]]:
    """Yield the combinations to leave out: labels by the paths of axes.

    Raises RecipeError for an unknown one.
    """
    node = matrix.get("exclude")
    if node is None:
        return
    for rule in node.items or [node]:
        if not rule.entries:
            raise rule.span.error("`matrix.exclude`: expected a list of combinations, [{precision: float32}]")
        combination = {}
        for word, choice in rule.entries.items():
            path, label = _require_axis(word, axes, choice.key, "matrix.exclude"), _format_choice(choice)
            if label not in axes[path]:
                message = f"`{word}` has no choice `{shorten(label)}`{hint(label, list(axes[path]))}"
                raise choice.span.error(f"`matrix.exclude`: {message}")
            combination[path] = label
        yield combination


def _find_axis(word: str, axes: Collection[str]) -> str:
    """Return the path of an axis that is named by its path or by the last word of it; "" if there is none."""
    matches = [path for path in axes if path == word] or [p for p in axes if p.rpartition(".")[2] == word]
    return matches[0] if len(matches) == 1 else ""


def _require_axis(word: str, axes: Collection[str], span: Span, where: str) -> str:
    """Return the path of an axis (see `_find_axis`). Raises RecipeError if there is none of the name."""
    path = _find_axis(word, axes)
    if not path:
        raise span.error(f"`{where}`: no axis is called `{shorten(word)}`{hint(word, list(axes))}")
    return path


def _apply_choice(tree: YamlNode, path: str, choice: YamlNode) -> YamlNode:
    """Put a choice of an axis over a recipe."""
    if path == "extends":  # `merge` would drop the fields of the file, which are written over what it extends
        return replace(tree, value=tree.entries | {"extends": choice})
    return merge(tree, expand_gates_name(nest(path, choice)))


def _list_choices(path: str, axis: YamlNode) -> dict[str, YamlNode]:
    """Return the choices of a field by label.

    Raises RecipeError if there are none, or if two have one label.
    """
    choices: dict[str, YamlNode] = {}
    for item in axis.items:
        if isinstance(item.value, dict | list):
            message = "a choice that is a list or mapping needs a label: write `LABEL: CHOICE`"
            raise item.span.error(f"`matrix.{path}`: {message}")
        label = _format_choice(item)
        if label in choices:
            raise item.span.error(f"`matrix.{path}`: `{shorten(label)}` is listed twice; name it once")
        choices[label] = item
    # A choice stands for its field: what is wrong with the field's name is shown there.
    choices = {label: replace(node, key=axis.key) for label, node in (choices or axis.entries).items()}
    if not choices:
        message = "expected a list of choices, or a mapping of labels to choices"
        raise axis.span.error(f"`matrix.{path}`: {message}")
    return choices


def _format_choice(choice: YamlNode) -> str:
    """Return how a choice is named in recipes' names: its text, or JSON."""
    return choice.value if isinstance(choice.value, str) else json.dumps(choice.value)
