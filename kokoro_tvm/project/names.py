"""Names that a recipe cannot have, because what it builds would be taken for something else."""

from __future__ import annotations

from pathlib import Path

from kokoro_tvm.errors import RecipeError
from kokoro_tvm.project.sets import SETS

__all__ = ["NPM", "PEERS", "REPORT", "SHARED", "check_name"]

REPORT = "report"
"""The task that makes all pages."""

SHARED = ("checkpoint", "reference", "front_end")
"""Folders of what recipes of a model share, beside those of bundles."""

PEERS, NPM = "peers", "npm"
"""Folders beside those of bundles: of the models that bundles are measured beside, and of packages of npm."""


def check_name(name: str, path: Path) -> None:
    """Raises RecipeError for a recipe, of the file `path`, whose name is a command of doit, a task or a
    folder."""
    from doit.doit_cmd import DoitMain

    if name in {command.get_name() for command in DoitMain.DOIT_CMDS}:
        what = f"a command of doit, so that `doit {name}` would not build it"
    elif name in SETS:
        what = f"that of a set, which `doit {name}` builds"
    elif name == REPORT:
        what = "that of the task that writes the pages about all bundles"
    elif name in (*SHARED, PEERS, NPM):
        what = f"that of a folder beside the bundles, artifacts/{name}"
    else:
        return
    raise RecipeError(f"{path}: the name {name} is taken; give the recipe another one: it is {what}.")
