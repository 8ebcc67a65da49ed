"""Other YAML files with the recipes' strictness and errors: a place, what is wrong, and a hint."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from kokoro_tvm.recipe._yaml import parse, read
from kokoro_tvm.recipe.problems import check
from kokoro_tvm.spec import Spec

__all__ = ["read_document"]

_File = TypeVar("_File", bound=Spec)
_MAX_NODES = 10_000


def read_document(path: Path, kind: type[_File]) -> _File:
    """The file as a `kind`. Raises RecipeError, with the place, for anything else."""
    return check(parse(read(path), _MAX_NODES), kind)
