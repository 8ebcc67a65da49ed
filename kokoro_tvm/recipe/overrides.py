"""Overrides for a try, `buckets.frames=[512]`: what is put over a recipe without writing one."""

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
from kokoro_tvm.recipe._source import RecipeText
from kokoro_tvm.recipe._yaml import YamlNode, parse
from kokoro_tvm.recipe.folder import Written
from kokoro_tvm.recipe.gate_sets import spelled_out
from kokoro_tvm.recipe.inherit import merge
from kokoro_tvm.recipe.matrix import nested

__all__ = ["is_try", "overridden", "read_try", "tried_name", "write_try"]

_NO_VALUES = ("extends", "matrix", "sets")
_LONGEST = 80  # characters of a name that lists its overrides


def tried_name(name: str, overrides: Sequence[str]) -> str:
    """What a recipe is called with overrides: `cpu+buckets-frames-512`, which no recipe can be called."""
    slugs = [re.sub("[^a-z0-9]+", "-", word.lower()).strip("-") for word in overrides]
    listed = "+".join((name, *slugs))
    digest = hashlib.sha256("\n".join(overrides).encode()).hexdigest()[:8]
    return listed if len(listed) <= _LONGEST else f"{name}+{digest}"


def is_try(name: str) -> bool:
    """Whether a name is that of a recipe with overrides."""
    return "+" in name


def write_try(artifacts: Path, recipe: str, overrides: Sequence[str]) -> None:
    """Writes down what a recipe is tried with, for whoever measures what is built."""
    path = _record(artifacts, tried_name(recipe, overrides))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"recipe": recipe, "overrides": list(overrides)}), encoding="utf-8")


def read_try(artifacts: Path, name: str) -> tuple[str, list[str]]:
    """The recipe and the overrides of a try that was built here. Raises RecipeError."""
    path = _record(artifacts, name)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return found["recipe"], found["overrides"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        recipe = name.partition("+")[0]
        raise RecipeError(
            f"{name} is a try, which no recipe describes, and {path}, which its build writes, cannot be "
            f"read. Name the folder it was built in (--root), or build it again: kokoro-tvm build {recipe} "
            "--with …"
        ) from error


def _record(artifacts: Path, name: str) -> Path:
    return artifacts / ".build" / name / "try.json"


def overridden(recipe: Written, overrides: Sequence[str]) -> Written:
    """The recipe with FIELD=VALUE, each as YAML has it, over all that it says; unchanged without any.

    Raises RecipeError, whose place is in the override.
    """
    if not overrides:
        return recipe
    own = reduce(merge, [recipe.own, *map(_tree, overrides)])
    return replace(recipe, name=tried_name(recipe.name, overrides), own=replace(own, span=recipe.own.span))


def _tree(word: str) -> YamlNode:
    field, given, value = word.partition("=")
    if not given:
        raise RecipeError(f"--with {shorten(word)}: write FIELD=VALUE, such as buckets.frames=[512].")
    (path, entry), *_ = (parse(RecipeText("--with", f"{field}: {value}")).entries or {}).items()
    if path.split(".")[0] in _NO_VALUES:
        raise entry.key.error(f"{either(_NO_VALUES)} cannot be tried: write a recipe")
    return spelled_out(nested(path, entry.key, entry.value))
