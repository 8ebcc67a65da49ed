"""Sets of recipes: one doit task for each, which builds those of its recipes that this machine can run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from kokoro_tvm.recipe import Recipe
from kokoro_tvm.recipe.parts import RecipeSet
from kokoro_tvm.targets import tools_for

__all__ = ["SETS", "lacking", "members"]

SETS: tuple[RecipeSet, ...] = get_args(RecipeSet)


def members(name: RecipeSet, recipes: Iterable[Recipe]) -> tuple[Recipe, ...]:
    """The recipes of a set, in the order given."""
    return tuple(recipe for recipe in recipes if name in recipe.sets)


def lacking(recipe: Recipe) -> tuple[str, ...]:
    """Features that the recipe's code is certain to need and this machine lacks."""
    return tools_for(recipe.target).lacking(recipe.precision)
