"""Sets of recipes: one doit task for each, which builds those of its recipes that this machine can run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from kokoro_tvm.cpu_features import ARM, PORTABLE, X86
from kokoro_tvm.recipe import Recipe
from kokoro_tvm.recipe.parts import RecipeSet

__all__ = ["SETS", "lacking", "members"]

SETS: tuple[RecipeSet, ...] = get_args(RecipeSet)


def members(name: RecipeSet, recipes: Iterable[Recipe]) -> tuple[Recipe, ...]:
    """The recipes of a set, in the order given."""
    return tuple(recipe for recipe in recipes if name in recipe.sets)


def lacking(recipe: Recipe, had: frozenset[str] | None) -> tuple[str, ...]:
    """CPU features that the recipe's code is sure to need and a CPU with `had` lacks; none where it is None.

    What a level, an added feature or the precision says is known without asking the compiler; of a CPU's name
    nothing is, and the build will tell.
    """
    if had is None:
        return ()
    target = recipe.target
    needed = set(PORTABLE.get(target.mcpu, ()))
    needed |= {"avx512bf16"} if recipe.precision == "bfloat16" else set()
    for word in target.mattr:
        name = word[1:]
        if word[0] == "-":
            needed.discard(name)
        elif name in X86 or name in ARM:  # others are habits of LLVM, such as prefer-256-bit
            needed.add(name)
    return tuple(sorted(needed - had))
