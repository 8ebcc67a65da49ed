"""The stage `throughput`, which emulated code does not run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.builder.stages import manifest, throughput
from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.recipe import load_recipe
from kokoro_tvm.targets.runners.local import LOCAL
from kokoro_tvm.validation.measure import peak
from kokoro_tvm.validation.reference.reference import Reference, save_reference

ROOT = Path(__file__).parents[3]
NAMES = {"name": "cpu", "model": "small"}


def gates(least: float | None, **others: Any) -> dict[str, Any]:
    shipped = load_recipe("cpu", ROOT / "recipes").gates.model_dump(mode="json")
    return shipped | {"throughput": {"min_peak_share": least}} | others


def report(tmp_path: Path, target: str, **settings: Any) -> dict[str, Any]:
    files = {name: (str(tmp_path / name), "") for name in ("reference", "machine", "config")}
    throughput.run(
        tmp_path,
        Inputs(files),
        recipe={"length": "exact", "precision": "float32"},
        target=load_recipe(target, ROOT / "recipes").target.model_dump(mode="json"),
        names=NAMES,
        **settings,
    )
    data: dict[str, Any] = json.loads((tmp_path / "throughput.json").read_text(encoding="utf-8"))
    return data


@pytest.fixture(autouse=True)
def measured(tmp_path: Path, references: Sequence[Reference], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """An empty bundle whose decoder reaches 0.75 of the peak, and the threads it ran on."""
    save_reference(references[0], tmp_path / "reference")
    (tmp_path / "machine").write_text("{}", encoding="utf-8")
    bundle = SimpleNamespace(entry=lambda name: SimpleNamespace(inputs=[]))
    monkeypatch.setattr(manifest, "open_loose_bundle", lambda inputs, recipe: bundle)
    monkeypatch.setattr("kokoro_tvm.targets.Machine.from_json", lambda data: None)
    monkeypatch.setattr(peak, "peak_share", lambda compute, flops, machine: 0.75)
    threads: list[int] = []

    def session(bundle: Any, count: int) -> Any:
        threads.append(count)
        return SimpleNamespace(run=print)

    monkeypatch.setattr(type(LOCAL), "session", lambda self, bundle, count: session(bundle, count))
    return threads


def test_recipe_without_the_gate_has_no_throughput_stage(tmp_path: Path) -> None:
    for least, there in ((0.9, True), (None, False)):
        recipe = load_recipe("cpu", ROOT / "recipes")
        limit = recipe.gates.throughput.model_copy(update={"min_peak_share": least})
        recipe = recipe.model_copy(update={"gates": recipe.gates.model_copy(update={"throughput": limit})})
        stages = [stage.name for stage in RecipeGraph(recipe, tmp_path, ROOT).stages()]
        assert ("cpu.throughput" in stages) == there


def test_throughput_passes_on_one_thread(tmp_path: Path, measured: list[int]) -> None:
    result = report(tmp_path, "cpu", gates=gates(0.7))
    assert (result["passed"], result["runner"], measured) == (True, "local", [1])
    assert result["utterances"][0]["outputs"] == {"decoder": {"peak_share": 0.75}}


def test_throughput_fails_below_the_limit(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match=r"short: decoder: peak_share 0\.75, min_peak_share 0\.8\."):
        report(tmp_path, "cpu", gates=gates(0.8))
    assert not report(tmp_path, "cpu", gates=gates(0.8, enforce=False))["passed"]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("linux-arm64", "it runs under qemu-aarch64, cortex-a72 here"),
        ("wasm", "it runs in Node here"),
        ("webgpu", "it runs in Chromium, with its kernels on SwiftShader here"),
    ],
)
def test_throughput_of_emulated_code_is_not_run(
    target: str, reason: str, tmp_path: Path, measured: list[int]
) -> None:
    result = report(tmp_path, target, gates=gates(1000))
    (utterance,) = result["utterances"]
    assert utterance["status"].startswith(f"not run: {reason}"), utterance["status"]
    assert (result["passed"], measured) == (False, [])
