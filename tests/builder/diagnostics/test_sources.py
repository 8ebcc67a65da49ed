"""Sources of a checkpoint that can be had, and such that cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_tvm.builder.diagnostics import sources
from kokoro_tvm.builder.diagnostics.sources import Reach, reach
from kokoro_tvm.recipe import load_recipe

CHECKPOINT = load_recipe("cpu", Path(__file__).parents[3] / "recipes").checkpoint


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://hub.example")
    monkeypatch.setattr(sources, "unreachable", lambda url: f"{url} does not answer within 5 s")


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in npm's place."""
    path = tmp_path / "npm"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    path.touch(0o755)
    return path


def test_of_the_recipe_that_is_shipped(npm: Path) -> None:
    npm.write_text('#!/bin/sh\necho "$@" >&2; [ "$1 $3" = "view version" ]\n')
    hub, packages = reach(CHECKPOINT, Path())
    assert hub == Reach("huggingface hexgrad/Kokoro-82M", "http://hub.example does not answer within 5 s")
    assert packages.source.startswith("npm ")
    assert packages.problem is None


def test_npm_says_why(npm: Path) -> None:
    npm.write_text("#!/bin/sh\necho 'npm error code E404' >&2; exit 1\n")
    assert reach(CHECKPOINT, Path())[1].problem == "npm does not find it (code E404)"
    npm.write_text("#!/bin/sh\nexit 3\n")
    assert reach(CHECKPOINT, Path())[1].problem == "npm does not find it (exit status 3)"


def test_npm_hangs_or_is_not_there(npm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm.write_text("#!/bin/sh\nexec sleep 100\n")
    monkeypatch.setattr(sources, "PROBE_TIMEOUT_S", 0.1)
    assert reach(CHECKPOINT, Path())[1].problem == "npm does not answer within 0 s"
    monkeypatch.setenv("PATH", "/nowhere")
    assert reach(CHECKPOINT, Path())[1].problem == "npm is not installed"


def test_the_hub_answers_or_is_switched_off(npm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm.write_text("#!/bin/sh\n")
    monkeypatch.setattr(sources, "unreachable", lambda url: None)
    assert reach(CHECKPOINT, Path())[0].problem is None
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert reach(CHECKPOINT, Path())[0].problem == "switched off by HF_HUB_OFFLINE"


def test_files(tmp_path: Path) -> None:
    result = CHECKPOINT.model_dump(mode="json")
    result["sources"] = [{"kind": "file", "path": "k.pth", "sha256": "0" * 64}]
    checkpoint = type(CHECKPOINT).model_validate(result, strict=False)
    assert reach(checkpoint, tmp_path) == [Reach("file k.pth", "there is no file k.pth")]
    (tmp_path / "k.pth").touch()
    assert reach(checkpoint, tmp_path) == [Reach("file k.pth", None)]
