"""kokoro-tvm tune, with fake layers and times."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from machines import machine_of

import kokoro_tvm.tools.lab.tuning.kernels
import kokoro_tvm.tools.lab.tuning.layers
from kokoro_tvm.cli import main
from kokoro_tvm.kernels.base.schedule import ConvChoice
from kokoro_tvm.kernels.base.semantic import OpCall
from kokoro_tvm.recipe import Recipe, choose_layers, load_recipe, schedule_path
from kokoro_tvm.targets import Machine
from kokoro_tvm.tools.lab.tuning.layers import TunedLayer, representative

RECIPES = Path(__file__).parents[3] / "recipes"
MACHINE = machine_of("native", None, ())
SCHEDULE = schedule_path(Path("recipes"), MACHINE.options["mcpu"], MACHINE.required)
ATTRIBUTES = {"stride": 1, "padding": 1, "slope": 1.0, "gain": 1.0, "tolerant": True}


class FakeTrial:
    """A trial with a fixed time and error."""

    def __init__(self, seconds: float, error: float) -> None:
        self._seconds, self.error = seconds, error

    def seconds(self) -> float:
        return self._seconds


def layers(machine: Machine) -> list[TunedLayer]:
    def call(dilation: int) -> OpCall:
        shapes = {"x": (1, "x_1", 16), "weight": (16, 16, 3)}
        return OpCall(shapes, ATTRIBUTES | {"dilation": dilation}, (1, "y_1", 16), machine.features)

    return representative([("conv1d", call(1)), ("conv1d", call(1)), ("conv1d", call(3))])


@pytest.fixture(autouse=True)
def recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the shipped recipes; one of two layers is faster by direct convolution."""
    (tmp_path / "recipes").mkdir()
    for path in RECIPES.glob("*.yaml"):
        shutil.copy(path, tmp_path / "recipes")
    monkeypatch.chdir(tmp_path)

    def layers_of(recipe: Recipe, component: str, machine: Machine) -> list[TunedLayer]:
        return layers(machine) if component == "decoder" else []

    monkeypatch.setattr(kokoro_tvm.tools.lab.tuning.layers, "layers_of", layers_of)
    times(monkeypatch, direct=0.5)


def times(monkeypatch: pytest.MonkeyPatch, direct: float, error: float = 0.0) -> None:
    """Set the time (ms) and the error of the undilated layer by direct convolution; others take 1 ms."""

    def prepared(machine: Machine) -> Any:
        def prepare(layer: TunedLayer, choice: ConvChoice) -> FakeTrial:
            chosen = layer.call.attributes["dilation"] == 1 and choice.outputs == 1
            return FakeTrial((direct if chosen else 1.0) / 1e3, error if chosen else 0.0)

        return prepare

    monkeypatch.setattr(kokoro_tvm.tools.lab.tuning.kernels, "prepared", prepared)


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(("tune", *words))
    return int(exit_.value.code or 0)


def test_tune_records_faster_schedules(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("cpu") == 0
    name = layers(MACHINE)[0].name
    out = capsys.readouterr().out
    assert "Together: 3.0 ms by the rules, 2.0 ms tuned (-33.3%)." in out
    assert "`doit cpu` builds decoder again" in out
    assert out.count("direct, ") == 1
    result = json.loads(SCHEDULE.read_text(encoding="utf-8"))
    assert result["features"] == list(MACHINE.required)
    assert list(result["components"]) == ["decoder"]
    assert list(result["components"]["decoder"]) == [name]
    recipe = load_recipe("cpu", Path("recipes"))
    choice = choose_layers(recipe.schedules, MACHINE.required, "decoder")[name]
    assert (choice.outputs, choice.taps) == (1, 1)


def test_tune_again_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    run("cpu")
    before = SCHEDULE.read_bytes()
    assert run("cpu") == 0
    assert SCHEDULE.read_bytes() == before
    assert f"{SCHEDULE} is unchanged" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("direct", "error"), [(1.5, 0.0), (0.99, 0.0), (0.5, 1.0)], ids=["slow", "alike", "wrong"]
)
def test_tune_does_not_record_slower_or_wrong_schedules(
    direct: float, error: float, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times(monkeypatch, direct, error)
    assert run("cpu") == 0
    assert not SCHEDULE.exists()
    assert f"nothing is written to {SCHEDULE}" in capsys.readouterr().out


def test_tune_removes_schedules_that_are_no_longer_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    run("cpu")
    times(monkeypatch, direct=1.5)
    assert run("cpu") == 0
    assert not SCHEDULE.exists()


def test_tune_keeps_schedules_of_layers_not_reached(capsys: pytest.CaptureFixture[str]) -> None:
    run("cpu")
    before = SCHEDULE.read_bytes()
    assert run("cpu", "--minutes", "0") == 0
    assert SCHEDULE.read_bytes() == before
    assert "2 of 2 layers were not reached" in capsys.readouterr().out


def test_tune_refuses_a_decoder_without_layers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kokoro_tvm.tools.lab.tuning.layers, "layers_of", lambda *_: [])
    assert run("cpu") == 2
    assert "The decoder of cpu has no layer to tune" in capsys.readouterr().err


def test_tune_refuses_another_target(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("recipes/arm.yaml")
    text = Path("recipes/cpu.yaml").read_text(encoding="utf-8")
    target = "{kind: llvm, mcpu: apple-m1, mtriple: aarch64-linux-gnu}"
    path.write_text(text.replace("{kind: llvm, mcpu: native}", target), encoding="utf-8")
    assert run("arm") == 3
    assert re.search(r"its CPU lacks .*\bneon\b.*\. Tune on a machine of the", capsys.readouterr().err)


def test_tune_refuses_an_unknown_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("cqu") == 2
    assert "did you mean `cpu`?" in capsys.readouterr().err
