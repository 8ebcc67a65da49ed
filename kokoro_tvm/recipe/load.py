"""Loads recipes by name or path: reads them with what they extend and resolves a target over its model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.common.words import hint
from kokoro_tvm.recipe._yaml import YamlNode
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
from kokoro_tvm.recipe.gate_sets import gates_of_other_precision, whole_gates, with_gates
from kokoro_tvm.recipe.inherit import without
from kokoro_tvm.recipe.overrides import is_try, overridden, read_try
from kokoro_tvm.recipe.problems import check, place
from kokoro_tvm.recipe.resolved import Recipe, resolve
from kokoro_tvm.recipe.schedule import read_schedules

__all__ = ["Loaded", "check_file", "load_built", "load_recipe", "read_recipe"]


@dataclass(frozen=True)
class Loaded:
    """A resolved target recipe, and what it was resolved of, with every value's place: the target's recipe
    and the model's, each over what it extends."""

    recipe: Recipe
    target: YamlNode
    model: YamlNode

    @property
    def warning(self) -> str | None:
        """What is allowed, but seldom meant."""
        return gates_of_other_precision(self.target, self.model)


def load_recipe(
    path_or_name: str | os.PathLike[str],
    root: Path = ROOT,
    overrides: Sequence[str] = (),
) -> Recipe:
    """The resolved target recipe: NAME means the one that `root` has, a path is taken as it is.

    What it extends, and the model's recipe, is looked for beside the file, then in `root`. `overrides`,
    FIELD=VALUE each, are put over all. Raises RecipeError.
    """
    return read_recipe(path_or_name, root, overrides).recipe


def load_built(name: str, root: Path) -> Recipe:
    """The recipe that a bundle in the folder with `recipes/` and `artifacts/` was built by, a try's too.

    Raises RecipeError.
    """
    recipe, overrides = read_try(root / "artifacts", name) if is_try(name) else (name, [])
    return load_recipe(recipe, root / "recipes", overrides=overrides)


def read_recipe(
    path_or_name: str | os.PathLike[str],
    root: Path = ROOT,
    overrides: Sequence[str] = (),
) -> Loaded:
    """The same, with the place of every value."""
    recipe = overridden(find_recipe(path_or_name, root), overrides)
    loaded = _load(recipe, root)
    if isinstance(loaded, ModelFile):
        raise RecipeError(
            f"{recipe.path}: a model recipe says what a model is; to build, name a recipe with a target"
            f"{_listed(list_recipes(recipe.path.parent))}."
        )
    return loaded


def check_file(path: Path, root: Path = ROOT) -> tuple[Loaded | ModelFile, ...]:
    """The recipes of a file, targets' resolved. Raises RecipeError."""
    return tuple(_load(recipe, root) for recipe in written(path))


def _load(recipe: Written, root: Path) -> Loaded | ModelFile:
    folders = (recipe.path.parent, root)
    tree = whole(recipe, folders)
    if is_model(tree):
        return _check_model(with_gates(tree, tree))
    model_tree = _model_of(tree, folders)
    if model_tree is None:
        target = check(without(tree, "gates"), TargetFile)
        raise _no_model(target.model, tree, folders)
    tree = with_gates(tree, model_tree)
    model_tree = with_gates(model_tree, model_tree)
    target = check(whole_gates(tree, model_tree), TargetFile)
    model = _check_model(model_tree)
    _check_padded(tree, target)
    _check_utterances(tree, target, model)
    resolved = resolve(recipe.name, target, model, read_schedules(recipe.path.parent))
    return Loaded(resolved, tree, model_tree)


def _model_of(tree: YamlNode, folders: Sequence[Path]) -> YamlNode | None:
    """The recipe of a target's model; None where it names none that there is."""
    name = place(tree, ["model"])[0].scalar
    for folder in folders:
        found = find(name, [folder]) if isinstance(name, str) else None
        if found and is_model(model := whole(found, folders)):
            return model
    return None


def _no_model(name: str, tree: YamlNode, folders: Sequence[Path]) -> RecipeError:
    what = f"there is no model recipe `{name}`"
    if find(name, folders):
        what = f"`{name}` is a target recipe, not a model"
    value, _, _ = place(tree, ["model"])
    return value.span.error(f"`model`: {what}{hint(name, list_models(folders))}")


def _check_model(tree: YamlNode) -> ModelFile:
    return check(whole_gates(tree, tree), ModelFile)


def _check_padded(tree: YamlNode, target: TargetFile) -> None:
    """`padded` keeps a known fault to debug with; promising to enforce its gates would be a lie."""
    enforce = tree.get("gates", "enforce")
    if target.length == "padded" and enforce is not None and enforce.scalar:
        problem = "with length: padded, gates only report; enforce cannot be true"
        raise enforce.span.error(f"`gates.enforce`: {problem}")


def _check_utterances(tree: YamlNode, target: TargetFile, model: ModelFile) -> None:
    """Raises RecipeError for an utterance that the model does not have."""
    names = [utterance.name for utterance in model.utterances]
    for index, name in enumerate(target.utterances or ()):
        if name not in names:
            value, _, _ = place(tree, ["utterances", index])
            problem = f"`{target.model}` has no utterance `{name}`{hint(name, names)}"
            raise value.span.error(f"`utterances[{index}]`: {problem}")


def _listed(names: list[str]) -> str:
    return f" ({', '.join(names)})" if names else ""
