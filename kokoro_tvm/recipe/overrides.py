"""Tries: a recipe with overrides such as `buckets.frames=[512]`, without a file of its own."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.common.words import either, shorten
from kokoro_tvm.common.yaml_file import YamlNode, YamlText, parse_yaml
from kokoro_tvm.recipe.index import RawRecipe
from kokoro_tvm.recipe.merge import expand_gates_name, merge, nest

_FORBIDDEN = ("extends", "matrix", "sets")
_MAX_NAME_CHARACTERS = 80  # of a name that lists its overrides


def is_try(name: str) -> bool:
    """Return whether a name is that of a recipe with overrides."""
    return "+" in name


def write_try(artifacts: Path, recipe: str, overrides: Sequence[str]) -> None:
    """Write the overrides of a try to its `try.json`, for commands that measure what it built."""
    path = _record_path(artifacts, _name_try(recipe, overrides))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"recipe": recipe, "overrides": list(overrides)}), encoding="utf-8")


def read_try(artifacts: Path, name: str) -> tuple[str, list[str]]:
    """Return the recipe and the overrides in the `try.json` of a try. Raises RecipeError without it."""
    path = _record_path(artifacts, name)
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return record["recipe"], record["overrides"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        recipe = name.partition("+")[0]
        raise RecipeError(
            f"{name} is a try, which no recipe describes, and {path}, which its build writes, cannot be "
            f"read. Name the folder it was built in (--root), or build it again: kokoro-tvm build {recipe} "
            "--with …"
        ) from error


def apply_overrides(recipe: RawRecipe, overrides: Sequence[str]) -> RawRecipe:
    """Put FIELD=VALUE, each value in YAML, over a recipe.

    Raises:
        RecipeError: An override is faulty; its place is in the override.
    """
    if not overrides:
        return recipe
    tree = reduce(merge, [recipe.tree, *map(_parse_override, overrides)])
    return replace(recipe, name=_name_try(recipe.name, overrides), tree=replace(tree, span=recipe.tree.span))


def _parse_override(word: str) -> YamlNode:
    """Return the tree of an override FIELD=VALUE.

    Raises RecipeError if it is no such text, or FIELD cannot be tried.
    """
    field, equals, value = word.partition("=")
    if not equals:
        raise RecipeError(f"--with {shorten(word)}: write FIELD=VALUE, such as buckets.frames=[512].")
    (path, node), *_ = parse_yaml(YamlText("--with", f"{field}: {value}")).entries.items()
    if path.split(".")[0] in _FORBIDDEN:
        raise node.key.error(f"{either(_FORBIDDEN)} cannot be tried: write a recipe")
    return expand_gates_name(nest(path, node))


def _name_try(name: str, overrides: Sequence[str]) -> str:
    """Return `cpu+buckets-frames-512`, which no recipe can be called."""
    slugs = [re.sub("[^a-z0-9]+", "-", word.lower()).strip("-") for word in overrides]
    listed = "+".join((name, *slugs))
    digest = hashlib.sha256("\n".join(overrides).encode()).hexdigest()[:8]
    return listed if len(listed) <= _MAX_NAME_CHARACTERS else f"{name}+{digest}"


def _record_path(artifacts: Path, name: str) -> Path:
    """Return the file that records the overrides of a try."""
    return artifacts / ".build" / name / "try.json"
