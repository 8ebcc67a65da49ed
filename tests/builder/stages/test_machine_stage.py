"""The stage `machine`, which resolves a target with TVM alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.recipe import load_recipe

RECIPES = Path(__file__).parents[3] / "recipes"
SCRIPT = """
import json, sys
from pathlib import Path
from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.stages.machine import run

for recipe, parameters in json.loads(sys.argv[2]).items():
    folder = Path(sys.argv[1], recipe)
    folder.mkdir()
    run(folder, Inputs({}), **parameters)
print(json.dumps([name for name in ("torch", "transformers", "kokoro") if name in sys.modules]))
"""


def test_machine_does_not_import_torch(tmp_path: Path) -> None:
    recipes = ("cpu", "linux-arm64", "webgpu")
    stages = {name: RecipeGraph(load_recipe(name, RECIPES), tmp_path, tmp_path).machine for name in recipes}
    assert [stage.preload for stage in stages.values()] == [(), (), ()]
    parameters = json.dumps({name: dict(stage.parameters) for name, stage in stages.items()})
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), parameters], capture_output=True, text=True, check=True
    )
    assert json.loads(process.stdout) == []
    for name in recipes:
        data = json.loads((tmp_path / name / "machine.json").read_text(encoding="utf-8"))
        assert data["options"]["mcpu"] not in ("", "native")
