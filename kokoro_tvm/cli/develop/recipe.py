"""kokoro-tvm recipe: checks recipes, shows resolved ones, prints their JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

_RecipesOption = Annotated[Path, typer.Option("--recipes", metavar="DIR", help="Folder of the recipes.")]


def register(app: typer.Typer) -> None:
    """Add the command group `recipe`."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    group.command("check")(check)
    group.command("show")(show)
    group.command("schema")(schema)
    app.add_typer(group, name="recipe", help="Check recipes and show their resolved values.")


def check(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Recipe files.", show_default="every recipe of the folder")
    ] = None,
    recipes: _RecipesOption = Path("recipes"),
) -> None:
    """Check the keys, values and names in recipe files."""
    from kokoro_tvm.builder.names import check_name
    from kokoro_tvm.common.errors import RecipeError
    from kokoro_tvm.recipe import ModelFile, check_file, recipe_files

    faults: list[str] = []
    for path in files or recipe_files(recipes):
        try:
            contents = check_file(path, recipes)
            for content in contents:
                if not isinstance(content, ModelFile):
                    check_name(content.recipe.name, path)
        except RecipeError as error:
            if str(error) not in faults:  # a model's fault is one of every recipe that extends it
                faults.append(str(error))
            continue
        for content in contents:
            if isinstance(content, ModelFile):
                typer.echo(f"{path}: ok, a model of {len(content.checkpoint.sources)} checkpoint sources")
                continue
            recipe = content.recipe
            name = f" {recipe.name}" if recipe.name != path.stem else ""
            typer.echo(f"{path}:{name} ok, {len(recipe.artifacts())} artifacts of {recipe.model}")
            if content.warning is not None:
                typer.echo(f"warning: {content.warning}", err=True)
    if faults:
        raise RecipeError("\n\n".join(faults))


def show(
    name: Annotated[str, typer.Argument(help="Name of a recipe in the folder, or a file.")],
    recipes: _RecipesOption = Path("recipes"),
    origin: Annotated[
        bool,
        typer.Option(
            "--origin", help="Print the file and line of every value instead, and what it overrides."
        ),
    ] = False,
) -> None:
    """Print a resolved recipe as YAML.

    It has the values of the model's recipe and all defaults.
    """
    from kokoro_tvm.recipe import list_origins, read_recipe, to_yaml

    loaded = read_recipe(name, recipes)
    if not origin:
        typer.echo(to_yaml(loaded.recipe), nl=False)
        return
    rows = list(list_origins(loaded))
    path_width, value_width = max(len(row.path) for row in rows), max(len(row.value) for row in rows)
    for row in rows:
        place = ", over ".join(map(str, row.places)) or "default"
        typer.echo(f"{row.path:<{path_width}}  {row.value:<{value_width}}  {place}")


def schema() -> None:
    """Print the JSON Schema of recipe files, for editors."""
    from kokoro_tvm.recipe import build_schema

    typer.echo(json.dumps(build_schema(), indent=2, ensure_ascii=False))
