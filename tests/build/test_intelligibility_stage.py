"""The stage that listens: there only where a recipe asks for it, and run only where there are ears."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kokoro_tvm.build import stages
from kokoro_tvm.build.graph import RecipeGraph
from kokoro_tvm.errors import ValidationError
from kokoro_tvm.model import kokoro
from kokoro_tvm.recipe import load_recipe
from kokoro_tvm.validate import listening, recogniser
from kokoro_tvm.validate.intelligibility import Heard

ROOT = Path(__file__).parents[2]


def graph(name: str, tmp_path: Path) -> RecipeGraph:
    return RecipeGraph(load_recipe(name, ROOT / "recipes"), tmp_path, ROOT)


def run(tmp_path: Path) -> dict[str, object]:
    stage = graph("cpu-listened", tmp_path).intelligibility
    stage.folder.mkdir(parents=True)
    arguments = stage.arguments(stage.folder)
    try:
        stages.intelligibility(**arguments)
    finally:
        (out,) = stage.outputs
        written: dict[str, object] = json.loads(stage.path(out).read_text(encoding="utf-8"))
    return written


def test_only_the_recipe_with_the_gate_has_the_stage(tmp_path: Path) -> None:
    names = {name: [s.name for s in graph(name, tmp_path).stages()] for name in ("cpu", "cpu-listened")}
    assert "cpu-listened.intelligibility" in names["cpu-listened"]
    assert "cpu.intelligibility" not in names["cpu"]


def test_without_ears_it_is_not_run_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(recogniser, "open_recogniser", lambda: None)
    report = run(tmp_path)
    assert report["passed"] is False
    assert report["missed"] == [f"no utterance could be run (harvard of 0: {recogniser.MISSING})"]
    assert "not run: there is no speech recogniser" in capsys.readouterr().out


@pytest.mark.parametrize(("ours", "passes"), [("the sun rose", True), ("the sun rows", False)])
def test_with_ears_the_gate_is_asked(
    ours: str, passes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = [Heard("af_heart", "the sun rose", ours, "the sun rose")]
    monkeypatch.setattr(recogniser, "open_recogniser", lambda: object())
    monkeypatch.setattr(listening, "listen", lambda *_, **__: heard)
    for name in ("load_config", "load_state"):
        monkeypatch.setattr(kokoro, name, lambda folder: {})
    if passes:
        assert run(tmp_path)["passed"]
    else:
        with pytest.raises(ValidationError, match=r"all: word_error_increase 0\.333"):
            run(tmp_path)
