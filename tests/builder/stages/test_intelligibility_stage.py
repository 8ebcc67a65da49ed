"""The stage `intelligibility`, which fails without a recogniser."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.builder.stages import intelligibility
from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.model import kokoro
from kokoro_tvm.recipe import load_recipe
from kokoro_tvm.validation.measure import listening, recogniser
from kokoro_tvm.validation.measure.intelligibility import Transcript

ROOT = Path(__file__).parents[3]


def graph(name: str, tmp_path: Path) -> RecipeGraph:
    return RecipeGraph(load_recipe(name, ROOT / "recipes"), tmp_path, ROOT)


def run(tmp_path: Path) -> dict[str, object]:
    files = {name: (str(tmp_path / name), "") for name in ("bundle/bundle.json", "checkpoint/config.json")}
    gates = load_recipe("cpu-listened", ROOT / "recipes").gates.model_dump(mode="json")
    intelligibility.run(tmp_path, Inputs(files), gates=gates)
    report: dict[str, object] = json.loads((tmp_path / "intelligibility.json").read_text(encoding="utf-8"))
    return report


def test_recipe_without_the_gate_has_no_intelligibility_stage(tmp_path: Path) -> None:
    names = {name: [s.name for s in graph(name, tmp_path).stages()] for name in ("cpu", "cpu-listened")}
    assert "cpu-listened.intelligibility" in names["cpu-listened"]
    assert "cpu.intelligibility" not in names["cpu"]


@pytest.mark.parametrize("missing", ["moonshine_voice", "jiwer"])
def test_intelligibility_fails_without_a_recogniser(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find, origin = importlib.util.find_spec, tmp_path / "moonshine_voice/__init__.py"
    there = {"moonshine_voice": SimpleNamespace(origin=str(origin))} | {missing: None}
    monkeypatch.setattr(
        recogniser.importlib.util, "find_spec", lambda name: there[name] if name in there else find(name)
    )
    with pytest.raises(ValidationError, match=r"cannot be run.*pip install 'kokoro-tvm\[asr\]'"):
        run(tmp_path)


@pytest.mark.parametrize(("ours", "passes"), [("the sun rose", True), ("the sun rows", False)])
def test_intelligibility_judges_the_gate(
    ours: str, passes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = [Transcript("af_heart", "the sun rose", ours, "the sun rose")]
    monkeypatch.setattr(recogniser, "open_recogniser", lambda: object())
    monkeypatch.setattr(listening, "listen", lambda *_, **__: heard)
    for name in ("load_config", "load_state"):
        monkeypatch.setattr(kokoro, name, lambda folder: {})
    if passes:
        assert run(tmp_path)["passed"]
    else:
        with pytest.raises(ValidationError, match=r"all: word_error_increase 0\.333"):
            run(tmp_path)
