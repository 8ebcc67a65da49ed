"""A target is resolved by TVM alone: nothing of PyTorch is loaded for a CPU's name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kokoro_tvm.project.graph import RecipeGraph
from kokoro_tvm.recipe import load_recipe

RECIPES = Path(__file__).parents[2] / "recipes"
SCRIPT = """
import json, sys
from pathlib import Path
from kokoro_tvm.engine.inputs import Inputs
from kokoro_tvm.stages.machine import run

run(Path(sys.argv[1]), Inputs({}), **json.loads(sys.argv[2]))
print(json.dumps([name for name in ("torch", "transformers", "kokoro") if name in sys.modules]))
"""


@pytest.mark.parametrize("recipe", ["cpu", "linux-arm64", "webgpu"])
def test_no_torch_is_loaded(recipe: str, tmp_path: Path) -> None:
    stage = RecipeGraph(load_recipe(recipe, RECIPES), tmp_path, tmp_path).machine
    assert stage.preload == ()
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), json.dumps(dict(stage.parameters))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
    found = json.loads((tmp_path / "machine.json").read_text(encoding="utf-8"))
    assert found["options"]["mcpu"] not in ("", "native")
