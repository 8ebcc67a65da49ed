"""Overrides for a try, `buckets.frames=[512]`: what is put over a recipe without writing one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from kokoro_tvm.errors import RecipeError
from kokoro_tvm.recipe._source import SourceText
from kokoro_tvm.recipe._yaml import Node, parse
from kokoro_tvm.recipe.folder import Written
from kokoro_tvm.recipe.gate_sets import spelled_out
from kokoro_tvm.recipe.inherit import merge
from kokoro_tvm.recipe.matrix import nested
from kokoro_tvm.words import either, shorten

__all__ = ["overridden", "tried_name"]

_NO_VALUES = ("extends", "matrix", "sets")
_LONGEST = 80  # characters of a name that lists its overrides


def tried_name(name: str, overrides: Sequence[str]) -> str:
    """What a recipe is called with overrides: `cpu+buckets-frames-512`, which no recipe can be called."""
    slugs = [re.sub("[^a-z0-9]+", "-", word.lower()).strip("-") for word in overrides]
    listed = "+".join((name, *slugs))
    digest = hashlib.sha256("\n".join(overrides).encode()).hexdigest()[:8]
    return listed if len(listed) <= _LONGEST else f"{name}+{digest}"


def overridden(recipe: Written, overrides: Sequence[str]) -> Written:
    """The recipe with FIELD=VALUE, each as YAML has it, over all that it says; unchanged without any.

    Raises RecipeError, whose place is in the override.
    """
    if not overrides:
        return recipe
    own = reduce(merge, [recipe.own, *map(_tree, overrides)])
    return replace(recipe, name=tried_name(recipe.name, overrides), own=replace(own, span=recipe.own.span))


def _tree(word: str) -> Node:
    field, given, value = word.partition("=")
    if not given:
        raise RecipeError(f"--with {shorten(word)}: write FIELD=VALUE, such as buckets.frames=[512].")
    (path, entry), *_ = (parse(SourceText("--with", f"{field}: {value}")).entries or {}).items()
    if path.split(".")[0] in _NO_VALUES:
        raise entry.key.error(f"{either(_NO_VALUES)} cannot be tried: write a recipe")
    return spelled_out(nested(path, entry.key, entry.value))
