"""Which recipes a folder has, in files and in their matrices, each with everything that it extends."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.common.words import either, hint, shorten
from kokoro_tvm.recipe._source import Span
from kokoro_tvm.recipe._yaml import YamlNode, parse, read
from kokoro_tvm.recipe.files import ModelFile, kind_of
from kokoro_tvm.recipe.gate_sets import spelled_out
from kokoro_tvm.recipe.inherit import extend, without
from kokoro_tvm.recipe.matrix import members

__all__ = [
    "ROOT",
    "Written",
    "find",
    "find_recipe",
    "is_model",
    "list_models",
    "list_recipes",
    "recipe_files",
    "whole",
    "written",
]

ROOT = Path("recipes")
PART = "_"
"""What the name of a file begins with that is no recipe by itself: others extend it."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_NOT_INHERITED = ("sets",)  # when a recipe is built is no part of what it builds
_DEEPEST = 16
_OF_TARGETS = ("model", "target", "buckets")


@dataclass(frozen=True)
class Written:
    """A recipe as its file has it. own: without what it extends; span: where its name is given."""

    name: str
    path: Path
    own: YamlNode
    span: Span


def recipe_files(root: Path = ROOT) -> tuple[Path, ...]:
    """Every recipe file of the folder, by name; parts of recipes are none.

    Raises RecipeError where there is no folder or none in it.
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
    """Names of the folder's target recipes; one that cannot be read is listed, so that its error shows."""
    return list(dict.fromkeys(name for name, model in _listed(root) if not model))


def list_models(folders: Sequence[Path]) -> list[str]:
    """Names of the models' recipes in the folders that have recipes."""
    there = [folder for folder in dict.fromkeys(folders) if any(folder.glob("*.yaml"))]
    return sorted({name for folder in there for name, model in _listed(folder) if model})


def find_recipe(path_or_name: str | os.PathLike[str], root: Path = ROOT) -> Written:
    """The recipe of this name in the folder, or the only one of a file. Raises RecipeError."""
    given = os.fspath(path_or_name)
    if isinstance(path_or_name, os.PathLike) or given.endswith((".yaml", ".yml")) or set(given) & set("/\\"):
        found = written(Path(given))
        if len(found) > 1:
            raise found[0].span.error(f"this file is a matrix; name one of its recipes: {_either(found)}")
        return found[0]
    if not given.startswith(PART) and (one := find(given, [root])):
        return one
    names = list_recipes(root)  # which reads every file
    if given in names:
        return written(root / f"{given}.yaml")[0]  # which raises
    raise RecipeError(f"{root}: there is no recipe `{shorten(given)}`{hint(given, names)}")


def written(path: Path) -> tuple[Written, ...]:
    """The recipe of a file, or those of its matrix. Raises RecipeError."""
    if not _NAME.fullmatch(path.stem.removeprefix(PART)):
        raise RecipeError(
            f"{shorten(path.name)}: a recipe's file name becomes the name of its bundle and tasks: "
            "use lower-case letters, digits, - and _ (at most 64)."
        )
    tree = spelled_out(parse(read(path)))
    matrix = tree.get("matrix")
    if matrix is None:
        return (Written(path.stem, path, tree, tree.span),)
    found = tuple(Written(name, path, own, span) for name, own, span in members(tree, matrix))
    for each in found:
        if not _NAME.fullmatch(each.name):
            raise each.span.error(
                f"`{shorten(each.name)}` cannot be a recipe's name: use lower-case letters, digits, - and _ "
                "(at most 64); give the choice another label, or the matrix another `name`"
            )
    return found


def find(name: str, folders: Sequence[Path]) -> Written | None:
    """The recipe, or part, of this name in the first of the folders that has one. Raises RecipeError."""
    for folder in folders:
        found = [each for path in sorted(folder.glob("*.yaml")) for each in _called(name, path)]
        if len(found) > 1:
            # The name of a file is that of its recipe; a matrix can give another one.
            first, second = sorted(found, key=lambda each: each.path.stem != name)[:2]
            other = (
                "both of this matrix" if first.span == second.span else f"this one and that of {first.span}"
            )
            raise second.span.error(
                f"two recipes are called `{shorten(name)}`, {other}: give each a name of its own"
            )
        if found:
            return found[0]
    return None


def _called(name: str, path: Path) -> Sequence[Written]:
    """The recipes of this name in a file. Of a file of another name, errors are its own recipes' affair."""
    if path.stem == name:
        there = written(path)
        if not any(each.name == name for each in there):
            raise there[0].span.error(f"`{name}` is a matrix; name one of its recipes: {_either(there)}")
        return [each for each in there if each.name == name]
    try:
        return [each for each in written(path) if each.name == name] if "matrix" in read(path).text else ()
    except RecipeError:
        return ()


def _either(recipes: Sequence[Written]) -> str:
    return either(each.name for each in recipes)


def whole(recipe: Written, folders: Sequence[Path]) -> YamlNode:
    """A recipe over all that it extends, which is looked for in `folders`. Raises RecipeError."""
    return _whole(recipe, folders, (recipe.name,), {})


def is_model(tree: YamlNode) -> bool:
    """Whether it is a model's recipe."""
    return kind_of(tree.data()) is ModelFile


def _whole(
    recipe: Written, folders: Sequence[Path], chain: tuple[str, ...], done: dict[str, YamlNode]
) -> YamlNode:
    """chain: the names that led here, its own last; done: what is whole already, extended on several ways."""

    def base(name: YamlNode) -> YamlNode:
        word = str(name.scalar)
        if word in chain:
            circle = " → ".join(shorten(each) for each in (*chain[chain.index(word) :], word))
            raise name.span.error(f"`extends` goes in a circle: {circle}")
        found = find(word, folders)
        if found is None:
            there = {path.stem for folder in folders for path in folder.glob("*.yaml")}
            advice = hint(word, sorted(there - set(chain)))
            raise name.span.error(f"`extends`: there is no recipe `{shorten(word)}`{advice}")
        if len(chain) >= _DEEPEST:
            raise name.span.error(f"`extends`: more than {_DEEPEST} recipes, one over another")
        if word not in done:
            done[word] = _whole(found, folders, (*chain, word), done)
        tree = done[word]
        if is_model(tree) and set(_OF_TARGETS) & set(recipe.own.entries or ()):
            raise name.span.error(
                f"`extends`: `{word}` is a model; a target recipe names it as its own, `model: {word}`"
            )
        return without(tree, *_NOT_INHERITED)

    return extend(recipe.own, base)


def _listed(folder: Path) -> Iterator[tuple[str, bool]]:
    """Every recipe's name, and whether it is a model's."""
    for path in recipe_files(folder):
        try:
            for recipe in written(path):
                yield recipe.name, is_model(whole(recipe, [folder]))
        except RecipeError:
            yield path.stem, False
