"""Loads recipes by name or path: reads them with what they extend and resolves a target over its model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.errors import RecipeError
from kokoro_tvm.recipe._yaml import Node
from kokoro_tvm.recipe.files import ModelFile, TargetFile
from kokoro_tvm.recipe.folder import (
    ROOT,
    Written,
    find,
    find_recipe,
    is_model,
    list_models,
    list_recipes,
    whole,
    written,
)
from kokoro_tvm.recipe.known import Known
from kokoro_tvm.recipe.problems import check, place
from kokoro_tvm.recipe.resolved import Recipe, resolve
from kokoro_tvm.recipe.schedule import read_schedules
from kokoro_tvm.words import hint

__all__ = ["Loaded", "check_file", "load_recipe", "read_recipe"]


@dataclass(frozen=True)
class Loaded:
    """A resolved target recipe, and what it was resolved of, with every value's place: the target's recipe
    and the model's, each over what it extends."""

    recipe: Recipe
    target: Node
    model: Node


def load_recipe(
    path_or_name: str | os.PathLike[str], root: Path = ROOT, known: Known | None = None
) -> Recipe:
    """The resolved target recipe: NAME means the one that `root` has, a path is taken as it is.

    What it extends, and the model's recipe, is looked for beside the file, then in `root`. `known` holds the
    patches and passes there are, those of the package unless given. Raises RecipeError.
    """
    return read_recipe(path_or_name, root, known).recipe


def read_recipe(
    path_or_name: str | os.PathLike[str], root: Path = ROOT, known: Known | None = None
) -> Loaded:
    """The same, with the place of every value."""
    path = find_recipe(path_or_name, root)
    loaded = _load(written(path), root, known or Known.of_package())
    if isinstance(loaded, ModelFile):
        raise RecipeError(
            f"{path}: a model recipe says what a model is; to build, name a recipe with a target"
            f"{_listed(list_recipes(path.parent))}."
        )
    return loaded


def check_file(path: Path, root: Path = ROOT, known: Known | None = None) -> Recipe | ModelFile:
    """What the file says, target recipes resolved. Raises RecipeError."""
    loaded = _load(written(path), root, known or Known.of_package())
    return loaded if isinstance(loaded, ModelFile) else loaded.recipe


def _load(recipe: Written, root: Path, known: Known) -> Loaded | ModelFile:
    folders = (recipe.path.parent, root)
    tree = whole(recipe, folders)
    if is_model(tree):
        return check(tree, ModelFile, known)
    target = check(tree, TargetFile, known)
    model_tree = _model_of(target, tree, folders)
    model = check(model_tree, ModelFile, known)
    _check_utterances(tree, target, model)
    resolved = resolve(recipe.name, target, model, read_schedules(recipe.path.parent))
    return Loaded(resolved, tree, model_tree)


def _model_of(target: TargetFile, tree: Node, folders: Sequence[Path]) -> Node:
    """The recipe of a target's model. Raises RecipeError where there is none of the name."""
    there = False
    for folder in folders:
        if found := find(target.model, [folder]):
            there = True
            if is_model(model := whole(found, folders)):
                return model
    what = (
        f"`{target.model}` is a target recipe, not a model"
        if there
        else (f"there is no model recipe `{target.model}`")
    )
    value, _, _ = place(tree, ["model"])
    raise value.span.error(f"`model`: {what}{hint(target.model, list_models(folders))}")


def _check_utterances(tree: Node, target: TargetFile, model: ModelFile) -> None:
    """Raises RecipeError for an utterance that the model does not have."""
    names = [utterance.name for utterance in model.utterances]
    for index, name in enumerate(target.utterances or ()):
        if name not in names:
            value, _, _ = place(tree, ["utterances", index])
            problem = f"`{target.model}` has no utterance `{name}`{hint(name, names)}"
            raise value.span.error(f"`utterances[{index}]`: {problem}")


def _listed(names: list[str]) -> str:
    return f" ({', '.join(names)})" if names else ""
