"""Names that a recipe cannot have, because sets, tasks or folders have them."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.recipe.parts import RecipeSet

SETS: tuple[RecipeSet, ...] = get_args(RecipeSet)
"""Sets of recipes. A task for each builds the recipes that this machine can run."""

REPORT = "report"
"""Task that writes the pages about all bundles."""

DOCS = "docs"
"""Task that builds the site of the documentation."""

SHARED = ("checkpoint", "reference", "front_end")
"""Folders of stages that recipes of a model share, beside those of bundles."""

PEERS, NPM = "peers", "npm"
"""Folders of peer models for benchmarks, and of npm packages, beside those of bundles."""


def check_name(name: str, path: Path) -> None:
    """Raise RecipeError if the name of the recipe at `path` is a command of doit, a task or a folder."""
    from doit.doit_cmd import DoitMain

    if name in {command.get_name() for command in DoitMain.DOIT_CMDS}:
        what = f"a command of doit, so that `doit {name}` would not build it"
    elif name in SETS:
        what = f"that of a set, which `doit {name}` builds"
    elif name == REPORT:
        what = "that of the task that writes the pages about all bundles"
    elif name == DOCS:
        what = "that of the task that builds the site of the documentation"
    elif name in (*SHARED, PEERS, NPM):
        what = f"that of a folder beside the bundles, artifacts/{name}"
    else:
        return
    raise RecipeError(f"{path}: the name {name} is taken; give the recipe another one: it is {what}.")
