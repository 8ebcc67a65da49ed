"""kokoro-tvm recipe: check recipes, show what one resolves to, print their JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["register"]

_Root = Annotated[Path, typer.Option("--recipes", metavar="DIR", help="Folder of the recipes.")]


def register(app: typer.Typer) -> None:
    """Adds the command group `recipe`."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    group.command("check")(check)
    group.command("show")(show)
    group.command("schema")(schema)
    app.add_typer(group, name="recipe", help="Check recipes and show what they resolve to.")


def check(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Recipe files. The default is every recipe of the folder.")
    ] = None,
    recipes: _Root = Path("recipes"),
) -> None:
    """Check recipe files: keys, values, and the names of models, patches and passes."""
    from kokoro_tvm.builder.names import check_name
    from kokoro_tvm.common.errors import RecipeError
    from kokoro_tvm.recipe import ModelFile, check_file, recipe_files

    faults: list[str] = []
    for path in files or recipe_files(recipes):
        try:
            found = check_file(path, recipes)
            for each in found:
                if not isinstance(each, ModelFile):
                    check_name(each.recipe.name, path)
        except RecipeError as error:
            if str(error) not in faults:  # a model's fault is that of every recipe over it
                faults.append(str(error))
            continue
        for each in found:
            if isinstance(each, ModelFile):
                typer.echo(f"{path}: ok, a model of {len(each.checkpoint.sources)} checkpoint sources")
                continue
            recipe = each.recipe
            name = f" {recipe.name}" if recipe.name != path.stem else ""
            typer.echo(f"{path}:{name} ok, {len(recipe.artifacts())} artifacts of {recipe.model}")
            if each.warning is not None:
                typer.echo(f"warning: {each.warning}", err=True)
    if faults:
        raise RecipeError("\n\n".join(faults))


def show(
    name: Annotated[str, typer.Argument(help="Name of a recipe in the folder, or a file.")],
    recipes: _Root = Path("recipes"),
    origin: Annotated[
        bool,
        typer.Option(
            "--origin",
            help="Print instead where every value is written (file and line), and what it overrides.",
        ),
    ] = False,
) -> None:
    """Print everything that a recipe resolves to, as YAML, with the model's part and all defaults."""
    from kokoro_tvm.recipe import list_origins, read_recipe, to_yaml

    loaded = read_recipe(name, recipes)
    if not origin:
        typer.echo(to_yaml(loaded.recipe), nl=False)
        return
    found = list(list_origins(loaded))
    paths, values = (
        max(len(word) for word in column) for column in zip(*((o.path, o.value) for o in found), strict=True)
    )
    for each in found:
        place = ", over ".join(map(str, each.places)) or "default"
        typer.echo(f"{each.path:<{paths}}  {each.value:<{values}}  {place}")


def schema() -> None:
    """Print the JSON Schema of recipe files, for editors."""
    from kokoro_tvm.recipe import build_schema

    typer.echo(json.dumps(build_schema(), indent=2, ensure_ascii=False))
