"""What tests need of the shipped recipes and takes long to build: built once in this checkout, and lent."""

from __future__ import annotations

import shutil
from pathlib import Path

from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.recipe import load_recipe

__all__ = ["RECIPES", "ROOT", "graph_of", "lend"]

ROOT = Path(__file__).parents[1]
RECIPES = ROOT / "recipes"


def graph_of(recipe: str) -> RecipeGraph:
    """The stages of a recipe, in this checkout."""
    return RecipeGraph(load_recipe(recipe, RECIPES), ROOT / "artifacts", ROOT)


def lend(stage: Stage | None, root: Path) -> None:
    """Puts what the stage wrote into the store of another repository, where it is restored, not built."""
    assert stage is not None
    stage.run()
    record, store = stage.record(), Store(root / "artifacts" / ".store")
    with store.workspace(record.key) as folder:
        for output in record.outputs:
            shutil.copy(stage.path(output.file), folder / output.file)
        store.add(record, lambda output: folder / output.file)
