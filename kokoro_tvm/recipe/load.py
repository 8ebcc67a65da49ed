"""Finds recipes by name or path, reads them and resolves a target recipe over its model's."""

from __future__ import annotations

import os
import re
from pathlib import Path

from kokoro_tvm.errors import RecipeError
from kokoro_tvm.recipe._source import SourceText
from kokoro_tvm.recipe._yaml import Node, parse, read
from kokoro_tvm.recipe.files import ModelFile, TargetFile, kind_of
from kokoro_tvm.recipe.known import Known
from kokoro_tvm.recipe.problems import check, place
from kokoro_tvm.recipe.resolved import Recipe, resolve
from kokoro_tvm.recipe.schedule import read_schedules
from kokoro_tvm.words import hint, shorten

__all__ = ["ROOT", "check_file", "find_recipe", "list_recipes", "load_recipe", "recipe_files"]

ROOT = Path("recipes")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def load_recipe(
    path_or_name: str | os.PathLike[str], root: Path = ROOT, known: Known | None = None
) -> Recipe:
    """The resolved target recipe: NAME means root/NAME.yaml, a path is taken as it is.

    The model's recipe is looked for beside the file, then in `root`. `known` holds the patches and passes
    there are, those of the package unless given. Raises RecipeError.
    """
    path = find_recipe(path_or_name, root)
    recipe = _load(path, root, known or Known.of_package())
    if isinstance(recipe, ModelFile):
        raise RecipeError(
            f"{path}: a model recipe says what a model is; to build, name a recipe with a target"
            f"{_listed(list_recipes(path.parent))}."
        )
    return recipe


def check_file(path: Path, root: Path = ROOT, known: Known | None = None) -> Recipe | ModelFile:
    """What the file says, target recipes resolved. Raises RecipeError."""
    return _load(path, root, known or Known.of_package())


def recipe_files(root: Path = ROOT) -> tuple[Path, ...]:
    """Every recipe file of the folder, by name. Raises RecipeError where there is no folder or none in it."""
    if not root.is_dir():
        raise RecipeError(
            f"{root}: there is no such folder of recipes; "
            "run this in the repository's root, or name the folder or a file."
        )
    files = tuple(sorted(root.glob("*.yaml")))
    if not files:
        raise RecipeError(f"{root}: the folder holds no recipe, no file that ends in .yaml.")
    return files


def list_recipes(root: Path = ROOT) -> list[str]:
    """Names of the folder's target recipes; one that cannot be read is listed, so that its error shows."""
    return [path.stem for path in recipe_files(root) if not _is_model(path)]


def _is_model(path: Path) -> bool:
    try:
        return kind_of(parse(read(path)).data()) is ModelFile
    except RecipeError:
        return False


def find_recipe(path_or_name: str | os.PathLike[str], root: Path = ROOT) -> Path:
    """The file of a recipe; it need not be there where a path is given. Raises RecipeError."""
    given = os.fspath(path_or_name)
    if isinstance(path_or_name, os.PathLike) or given.endswith((".yaml", ".yml")) or set(given) & set("/\\"):
        return Path(given)
    if _NAME.fullmatch(given) and (root / f"{given}.yaml").is_file():
        return root / f"{given}.yaml"
    names = list_recipes(root)  # which reads every file
    if given in names:
        return root / f"{given}.yaml"
    raise RecipeError(f"{root}: there is no recipe `{shorten(given)}`{hint(given, names)}")


def _load(path: Path, root: Path, known: Known) -> Recipe | ModelFile:
    if not _NAME.fullmatch(path.stem):
        raise RecipeError(
            f"{shorten(path.name)}: a recipe's file name becomes the name of its bundle and tasks: "
            "use lower-case letters, digits, - and _ (at most 64)."
        )
    source = read(path)
    node = parse(source)
    if kind_of(node.data()) is ModelFile:
        return check(source, node, ModelFile, known)
    target = check(source, node, TargetFile, known)
    beside = path.parent / f"{target.model}.yaml"
    for candidate in (beside, root / beside.name):
        if candidate.is_file() and (model := _model(candidate, known)) is not None:
            _check_utterances(source, node, target, model)
            return resolve(path.stem, target, model, read_schedules(path.parent))
    value, _, _ = place(node, ["model"])
    files = [file for folder in (path.parent, root) for file in folder.glob("*.yaml")]
    names = sorted({file.stem for file in files if _is_model(file)})
    there = any((folder / beside.name).is_file() for folder in (path.parent, root))
    what = f"`{target.model}` is a target recipe, not a model"
    if not there:
        what = f"there is no model recipe `{target.model}`"
    raise source.error(value.span, f"`model`: {what}{hint(target.model, names)}")


def _check_utterances(source: SourceText, node: Node, target: TargetFile, model: ModelFile) -> None:
    """Raises RecipeError for an utterance that the model does not have."""
    names = [utterance.name for utterance in model.utterances]
    for index, name in enumerate(target.utterances or ()):
        if name not in names:
            value, _, _ = place(node, ["utterances", index])
            problem = f"`{target.model}` has no utterance `{name}`{hint(name, names)}"
            raise source.error(value.span, f"`utterances[{index}]`: {problem}")


def _model(path: Path, known: Known) -> ModelFile | None:
    """The model's recipe in a file; None where a target's stands there."""
    source = read(path)
    node: Node = parse(source)
    return check(source, node, ModelFile, known) if kind_of(node.data()) is ModelFile else None


def _listed(names: list[str]) -> str:
    return f" ({', '.join(names)})" if names else ""
