"""The recipes of folders, in files and in their matrices, by name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kokoro_tvm.common.errors import KokoroTvmError, RecipeError
from kokoro_tvm.common.words import either, hint, shorten
from kokoro_tvm.common.yaml_file import Span, YamlNode, parse_yaml, read_text
from kokoro_tvm.recipe.files import ModelFile, detect_kind
from kokoro_tvm.recipe.matrix import expand_matrix
from kokoro_tvm.recipe.merge import expand_gates_name, extend, without

ROOT = Path("recipes")
PART = "_"
"""What the name of a file begins with that is no recipe by itself: others extend it."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_NAME_RULE = "use lower-case letters, digits, - and _ (at most 64)"
_NOT_INHERITED = ("sets",)  # when a recipe is built is no part of what it builds
_parse = lru_cache(maxsize=64)(parse_yaml)  # recipes extend the same few; a node is never changed


@dataclass(frozen=True)
class RawRecipe:
    """A recipe as its file has it.

    Attributes:
        tree: Content, without what it extends.
        span: Place that gives the name.
    """

    name: str
    path: Path
    tree: YamlNode
    span: Span


class RecipeIndex:
    """The recipes of folders by name; if several folders have a name, the first one wins."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._recipes: dict[str, RawRecipe | KokoroTvmError] = {}
        for folder in folders:
            self._recipes = _read_folder(folder) | self._recipes

    def find(self, name: str) -> RawRecipe | None:
        """Return the recipe, or the part, of a name; None if there is none.

        Raises RecipeError if its file is faulty, or is a matrix of other names.
        """
        recipe = self._recipes.get(name)
        if isinstance(recipe, KokoroTvmError):
            raise recipe
        if recipe is None:
            recipes = (other for other in self._recipes.values() if isinstance(other, RawRecipe))
            check_single([other for other in recipes if other.path.stem == name], f"`{name}`")
        return recipe

    def resolve(self, recipe: RawRecipe) -> YamlNode:
        """Return a recipe merged over all that it extends.

        Raises RecipeError if it cannot extend one of them.
        """
        return extend(recipe.tree, self._find_extended, (recipe.name,))

    def names(self, models: bool) -> list[str]:
        """Return the names of models' or of targets' recipes.

        A recipe that cannot be read counts as a target's, so that its error shows.
        """
        names = (name for name in self._recipes if not name.startswith(PART))
        return [name for name in names if self._is_model(name) == models]

    def _is_model(self, name: str) -> bool:
        """Return whether a name is a model's; False for a recipe that cannot be read."""
        recipe = self._recipes[name]
        try:
            return isinstance(recipe, RawRecipe) and is_model(self.resolve(recipe))
        except RecipeError:
            return False

    def _find_extended(self, name: YamlNode, chain: tuple[str, ...]) -> YamlNode:
        """Return what a recipe inherits from another one. Raises RecipeError if there is none of the name."""
        word = str(name.value)
        recipe = self.find(word)
        if recipe is None:
            advice = hint(word, sorted(set(self._recipes) - set(chain)))
            raise name.span.error(f"`extends`: there is no recipe `{shorten(word)}`{advice}")
        return without(recipe.tree, *_NOT_INHERITED)


def is_model(tree: YamlNode) -> bool:
    """Return whether a tree is a model's recipe."""
    return detect_kind(tree.entries) is ModelFile


def check_single(recipes: list[RawRecipe], what: str) -> None:
    """Raise RecipeError if there are recipes of a matrix where one recipe is needed."""
    if recipes:
        choices = either(recipe.name for recipe in recipes)
        raise recipes[0].span.error(f"{what} is a matrix; name one of its recipes: {choices}")


def recipe_files(root: Path = ROOT) -> tuple[Path, ...]:
    """Return every recipe file of a folder, by name, without parts of recipes.

    Raises:
        RecipeError: There is no such folder, or none of its files is a recipe.
    """
    if not root.is_dir():
        raise RecipeError(
            f"{root}: there is no such folder of recipes; "
            "run this in the repository's root, or name the folder or a file."
        )
    files = tuple(sorted(path for path in root.glob("*.yaml") if not path.name.startswith(PART)))
    if not files:
        raise RecipeError(f"{root}: the folder holds no recipe, no file that ends in .yaml.")
    return files


def list_recipes(root: Path = ROOT) -> list[str]:
    """Return the names of a folder's target recipes, and of files that cannot be read."""
    recipe_files(root)
    return RecipeIndex([root]).names(models=False)


def list_models(folders: Iterable[Path]) -> list[str]:
    """Return the names of the folders' model recipes."""
    return sorted(RecipeIndex(folders).names(models=True))


def read_file(path: Path) -> list[RawRecipe]:
    """Read the recipe of a file, or the recipes of its matrix.

    Raises RecipeError if the file cannot be read or parsed, or a name is invalid.
    """
    if not _NAME.fullmatch(path.stem.removeprefix(PART)):
        raise RecipeError(
            f"{shorten(path.name)}: a recipe's file name becomes the name of its bundle and tasks: "
            f"{_NAME_RULE}."
        )
    tree = expand_gates_name(_parse(read_text(path)))
    matrix = tree.get("matrix")
    if matrix is None:
        return [RawRecipe(path.stem, path, tree, tree.span)]
    recipes = [RawRecipe(name, path, member, matrix.span) for name, member in expand_matrix(tree, matrix)]
    for recipe in recipes:
        if not _NAME.fullmatch(recipe.name):
            message = (
                f"`{shorten(recipe.name)}` cannot be a recipe's name: {_NAME_RULE}; give the choice a label"
            )
            raise recipe.span.error(message)
    return recipes


def _read_folder(folder: Path) -> dict[str, RawRecipe | KokoroTvmError]:
    """Read all recipes of a folder; an error stands in place of a recipe that cannot be read."""
    recipes: dict[str, RawRecipe | KokoroTvmError] = {}
    for path in sorted(folder.glob("*.yaml")):
        try:
            members = read_file(path)
        except RecipeError as error:
            recipes[path.stem] = error
            continue
        for recipe in members:
            other = recipes.get(recipe.name, recipe)
            recipes[recipe.name] = (
                other if isinstance(other, KokoroTvmError) else _check_unique(recipe, other)
            )
    return recipes


def _check_unique(recipe: RawRecipe, other: RawRecipe) -> RawRecipe | KokoroTvmError:
    """Return the recipe, or an error if another one has its name."""
    if recipe is other:
        return recipe
    # The name of a file is that of its recipe; a matrix can give another label.
    first, second = sorted((other, recipe), key=lambda raw: raw.path.stem != raw.name)
    where = "both of this matrix" if first.span == second.span else f"this one and that of {first.span}"
    return second.span.error(
        f"two recipes are called `{shorten(recipe.name)}`, {where}: give each a name of its own"
    )
