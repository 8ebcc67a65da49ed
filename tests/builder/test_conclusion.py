"""The last lines of a build."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from checkout import graph_of

from kokoro_tvm.builder import tasks
from kokoro_tvm.builder.tasks import conclusion
from kokoro_tvm.common.platforms import Platform, detect_platform

SAY = 'say --bundle artifacts/{} -o speech.wav "Anything you like."'
pytestmark = pytest.mark.skipif(
    detect_platform() != Platform("x86_64", "linux"), reason="the lines are those of x86-64 Linux"
)


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    monkeypatch.setattr(tasks, "program", lambda name: name)


@pytest.mark.parametrize(
    ("recipe", "after"),
    [
        ("cpu", "kokoro-tvm SAY"),
        ("cuda", "kokoro-tvm SAY"),
        ("wasm", "kokoro-tvm web artifacts/{} -o site"),
        ("webgpu", "kokoro-tvm web --gpu artifacts/{} -o site"),
        (
            "linux-arm64",
            "copy artifacts/{} to a machine with Linux on aarch64, and there: kokoro-tvm SAY",
        ),
        (
            "macos-arm64",
            "copy artifacts/{} to a machine with macOS on aarch64, and there: kokoro-tvm SAY",
        ),
        ("metal-ios", "kokoro-tvm package {}"),
    ],
)
def test_conclusion_names_the_next_command(recipe: str, after: str) -> None:
    first, second = conclusion(graph_of(recipe)).splitlines()
    bundle = f"artifacts/{recipe}"
    assert first == f"The bundle is {bundle}, and it says hello in {bundle}/hello.wav."
    assert second == "Next: " + after.replace("SAY", SAY).replace("{}", recipe)


def test_conclusion_omits_hello_without_a_runner() -> None:
    graph = graph_of("linux-arm64")
    target = graph.recipe.target.model_copy(update={"run": False})
    graph = replace(graph, recipe=graph.recipe.model_copy(update={"target": target}), _stages={})
    first, _ = conclusion(graph).splitlines()
    assert first == "The bundle is artifacts/linux-arm64."
