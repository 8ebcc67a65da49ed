"""Loading of recipes by name or path: read, merge, validate, and resolve a target over its model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.common.words import hint, shorten
from kokoro_tvm.common.yaml_file import YamlNode
from kokoro_tvm.recipe.files import ModelFile, TargetFile
from kokoro_tvm.recipe.index import (
    PART,
    ROOT,
    RawRecipe,
    RecipeIndex,
    check_single,
    is_model,
    list_recipes,
    read_file,
)
from kokoro_tvm.recipe.merge import resolve_gates, without
from kokoro_tvm.recipe.overrides import apply_overrides, is_try, read_try
from kokoro_tvm.recipe.resolved import Recipe, resolve
from kokoro_tvm.recipe.schedule import read_schedules
from kokoro_tvm.recipe.validate import validate

_OF_TARGETS = ("model", "target", "buckets")


@dataclass(frozen=True)
class LoadedRecipe:
    """A resolved target recipe with its sources.

    Attributes:
        path: File that has the recipe.
        target: The target's recipe over what it extends, with complete gates.
        model: The model's recipe over what it extends, with complete gates.
    """

    recipe: Recipe
    path: Path
    target: YamlNode
    model: YamlNode

    @property
    def warning(self) -> str | None:
        """Message about gates that nobody wrote for the recipe's precision, or None."""
        precision = self.target.get("precision")
        if precision is None or precision.value == "float32" or self.target.get("gates") is not None:
            return None
        return precision.span.message(
            f"`precision`: the gates are the model's, which are for float32, since its `gate_sets` have no "
            f"`{precision.value}`; write `gates`"
        )


def load_recipe(
    path_or_name: str | os.PathLike[str], root: Path = ROOT, overrides: Sequence[str] = ()
) -> Recipe:
    """Return a resolved target recipe.

    Args:
        path_or_name: A file, or the name of a recipe in `root`.
        root: Folder with recipes that it extends, and its model, unless they are beside the file.
        overrides: FIELD=VALUE each, put over the recipe.

    Raises:
        RecipeError: The recipe, or one that it needs, is missing or faulty.
    """
    return read_recipe(path_or_name, root, overrides).recipe


def load_built(name: str, root: Path) -> Recipe:
    """Return the recipe that a bundle was built by, with the overrides of a try.

    `root` has `recipes/` and `artifacts/`. Raises RecipeError if the recipe, or the try's record, is missing.
    """
    recipe, overrides = read_try(root / "artifacts", name) if is_try(name) else (name, [])
    return load_recipe(recipe, root / "recipes", overrides=overrides)


def read_recipe(
    path_or_name: str | os.PathLike[str], root: Path = ROOT, overrides: Sequence[str] = ()
) -> LoadedRecipe:
    """Return a target recipe as `load_recipe` does, with the place of every value.

    Raises RecipeError as that does.
    """
    word = os.fspath(path_or_name)
    if isinstance(path_or_name, os.PathLike) or word.endswith((".yaml", ".yml")) or set(word) & set("/\\"):
        recipe, *others = read_file(Path(word))
        check_single([recipe, *others] if others else [], "this file")
        index = RecipeIndex((recipe.path.parent, root))
    else:
        index = RecipeIndex([root])
        match = None if word.startswith(PART) else index.find(word)
        if match is None:
            raise RecipeError(f"{root}: there is no recipe `{shorten(word)}`{hint(word, list_recipes(root))}")
        recipe = match
    loaded = _load(apply_overrides(recipe, overrides), index)
    if isinstance(loaded, ModelFile):
        names = ", ".join(list_recipes(recipe.path.parent))
        raise RecipeError(
            f"{recipe.path}: a model recipe says what a model is; to build, name a recipe with a target"
            f"{f' ({names})' if names else ''}."
        )
    return loaded


def check_file(path: Path, root: Path = ROOT) -> tuple[LoadedRecipe | ModelFile, ...]:
    """Return the recipes of a file, targets' resolved.

    Raises:
        RecipeError: One of them is faulty, or another file beside it has a recipe of the name.
    """
    recipes, index = read_file(path), RecipeIndex((path.parent, root))
    for recipe in recipes:
        index.find(recipe.name)
    return tuple(_load(recipe, index) for recipe in recipes)


def _load(recipe: RawRecipe, index: RecipeIndex) -> LoadedRecipe | ModelFile:
    """Merge, validate and resolve a recipe; a model's is only validated.

    Raises RecipeError if it is invalid.
    """
    tree = index.resolve(recipe)
    if is_model(tree):
        _check_extends_no_model(recipe, index)
        return validate(resolve_gates(tree, tree), ModelFile)
    model_tree = _resolve_model(tree, index)
    tree, model_tree = resolve_gates(tree, model_tree), resolve_gates(model_tree, model_tree)
    model = validate(model_tree, ModelFile)
    target = validate(tree, TargetFile)
    _check_padded(tree, target)
    _check_utterances(tree, target, model)
    resolved = resolve(recipe.name, target, model, read_schedules(recipe.path.parent))
    return LoadedRecipe(resolved, recipe.path, tree, model_tree)


def _resolve_model(tree: YamlNode, index: RecipeIndex) -> YamlNode:
    """Return the recipe of a target's model, merged with what it extends.

    Raises RecipeError if there is none.
    """
    name = tree.get("model")
    recipe = None if name is None or not isinstance(name.value, str) else index.find(name.value)
    model = None if recipe is None else index.resolve(recipe)
    if model is not None and is_model(model):
        return model
    word = validate(without(tree, "gates"), TargetFile).model  # which reports a missing name, or no name
    what = f"`{word}` is a target recipe, not a model" if model else f"there is no model recipe `{word}`"
    assert name is not None
    raise name.span.error(f"`model`: {what}{hint(word, sorted(index.names(models=True)))}")


def _check_extends_no_model(recipe: RawRecipe, index: RecipeIndex) -> None:
    """Raise RecipeError if a target's recipe names a model's in its `extends`."""
    names = recipe.tree.get("extends")
    if names is None or not set(_OF_TARGETS) & set(recipe.tree.entries):
        return
    for name in names.items or [names]:
        base = index.find(str(name.value))
        if base is not None and is_model(index.resolve(base)):
            word = name.value
            raise name.span.error(
                f"`extends`: `{word}` is a model; a target recipe names it as its own, `model: {word}`"
            )


def _check_padded(tree: YamlNode, target: TargetFile) -> None:
    """Raise RecipeError if gates of `length: padded` are enforced: it does not compute the model."""
    enforce = tree.get("gates", "enforce")
    if target.length == "padded" and enforce is not None and enforce.value:
        raise enforce.span.error(
            "`gates.enforce`: with length: padded, gates only report; enforce cannot be true"
        )


def _check_utterances(tree: YamlNode, target: TargetFile, model: ModelFile) -> None:
    """Raise RecipeError if a target names an utterance that the model lacks."""
    names = [utterance.name for utterance in model.utterances]
    for index, name in enumerate(target.utterances or ()):
        if name not in names:
            problem = f"`{target.model}` has no utterance `{name}`{hint(name, names)}"
            raise tree.entries["utterances"].items[index].span.error(f"`utterances[{index}]`: {problem}")
