"""Stages without a runner for the code: their gates are "not run", and do not pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from machines import machine_of

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.builder.stages import speak, speech, validate
from kokoro_tvm.common.errors import BuildError, ValidationError
from kokoro_tvm.recipe import load_recipe
from kokoro_tvm.targets.cpu import LlvmTarget
from kokoro_tvm.validation.reference.reference import Reference, save_reference

ROOT = Path(__file__).parents[3]
TARGET = {"kind": "llvm", "mcpu": "generic", "mtriple": "aarch64-pc-windows-msvc", "mattr": [], "run": True}
REASON = "nothing on this machine runs code for llvm generic"
NAMES = {"name": "foreign", "model": "small"}
RECIPE = {"length": "exact", "precision": "float32"}


def gates(enforce: bool) -> dict[str, Any]:
    return load_recipe("cpu", ROOT / "recipes").gates.model_dump(mode="json") | {"enforce": enforce}


@pytest.fixture
def compared(references: list[Reference], tmp_path: Path) -> dict[str, tuple[str, str]]:
    """Return the references as inputs."""
    files: dict[str, tuple[str, str]] = {}
    for reference in references:
        path = tmp_path / f"{reference.name}.safetensors"
        save_reference(reference, path)
        files[f"references/{path.name}"] = (str(path), "0" * 64)
    return files


@pytest.fixture
def parts(config: dict[str, Any], tmp_path: Path) -> dict[str, tuple[str, str]]:
    """Return the inputs that make a bundle of one empty artifact of BERT."""
    written = {
        "config": json.dumps(config),
        "machine": json.dumps(machine_of("x86-64-v3", "x86_64-linux-gnu").to_json()),
        "voices": "",
        "parameters/bert": "[]",
        "weights/bert": "",
        "libraries/bert-512": "",
    }
    files = {}
    for name, text in written.items():
        path = tmp_path / name.replace("/", "-")
        path.write_text(text, encoding="utf-8")
        files[name] = (str(path), "0" * 64)
    return files


def check(report: Path, component: str) -> None:
    data = json.loads(report.read_text(encoding="utf-8"))
    assert (data["component"], data["passed"]) == (component, False)
    assert [u["status"] for u in data["utterances"]] == [f"not run: {REASON}"] * 2
    (missed,) = data["missed"]
    assert missed.startswith("no utterance could be run (short of ")
    assert missed.count(REASON) == 2


@pytest.mark.parametrize("enforce", [True, False])
def test_validate_fails_without_a_runner(
    enforce: bool, parts: dict[str, tuple[str, str]], compared: dict[str, tuple[str, str]], tmp_path: Path
) -> None:
    def run() -> None:
        validate.run(
            tmp_path, Inputs(parts | compared), target=TARGET, gates=gates(enforce), names=NAMES,
            recipe=RECIPE,
        )  # fmt: skip

    if enforce:
        with pytest.raises(ValidationError, match=f"bert-512 did not pass: .*{REASON}"):
            run()
    else:
        run()
    check(tmp_path / "validation.json", "bert")


@pytest.mark.parametrize("enforce", [True, False])
def test_speech_fails_without_a_runner(
    enforce: bool, compared: dict[str, tuple[str, str]], tmp_path: Path
) -> None:
    def run() -> None:
        speech.run(tmp_path, Inputs(compared), target=TARGET, gates=gates(enforce))

    if enforce:
        with pytest.raises(ValidationError, match=f"speech did not pass: .*{REASON}"):
            run()
    else:
        run()
    check(tmp_path / "speech.json", "speech")


OFF = {**TARGET, "run": False}
OFF_REASON = "the recipe's target says `run: false`"


def test_stages_report_not_run_if_the_recipe_says_so(
    parts: dict[str, tuple[str, str]], compared: dict[str, tuple[str, str]], tmp_path: Path
) -> None:
    """The gates are not run and do not pass, but the recipe is built."""
    for out in ("validation", "speech"):
        (tmp_path / out).mkdir()
    validate.run(
        tmp_path / "validation", Inputs(parts | compared), target=OFF, gates=gates(True), names=NAMES,
        recipe=RECIPE,
    )  # fmt: skip
    speech.run(tmp_path / "speech", Inputs(compared), target=OFF, gates=gates(True))
    for name in ("validation", "speech"):
        data = json.loads((tmp_path / name / f"{name}.json").read_text(encoding="utf-8"))
        assert (data["passed"], data["runner"]) == (False, "")
        assert {u["status"] for u in data["utterances"]} == {f"not run: {OFF_REASON}"}


def test_bundle_of_a_recipe_that_is_not_run_says_so(tmp_path: Path) -> None:
    recipe = load_recipe("cpu", ROOT / "recipes")
    off = recipe.model_copy(update={"target": LlvmTarget.model_validate(OFF, strict=False)})
    result, run = (RecipeGraph(item, tmp_path, ROOT).bundle.parameters["not_run"] for item in (off, recipe))
    assert (result, run) == (OFF_REASON, "")


def test_speak_fails_without_a_runner(parts: dict[str, tuple[str, str]], tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=f"no hello.wav: {REASON}"):
        speak.run(
            tmp_path, Inputs(parts), target=TARGET, names=NAMES, recipe=RECIPE,
            phonemes="həlˈO", voice="af_heart", speed=1.0,
        )  # fmt: skip


def test_recipe_that_is_not_run_has_no_speak_stage(tmp_path: Path) -> None:
    recipe = load_recipe("cpu", ROOT / "recipes")
    foreign = recipe.model_copy(update={"target": LlvmTarget.model_validate(TARGET, strict=False)})
    kinds = [
        {stage.kind for stage in RecipeGraph(item, tmp_path, ROOT).stages()} for item in (recipe, foreign)
    ]
    assert kinds[0] - kinds[1] == {"runtime", "speak"}
    assert not kinds[1] - kinds[0]
    (judged, *_) = (s for s in RecipeGraph(foreign, tmp_path, ROOT).stages() if s.kind == "validate")
    assert judged.facts()["runner"] is None
