"""Reachable and unreachable sources of a checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_tvm.builder.diagnostics import sources
from kokoro_tvm.builder.diagnostics.sources import check_sources
from kokoro_tvm.recipe import load_recipe

CHECKPOINT = load_recipe("cpu", Path(__file__).parents[3] / "recipes").checkpoint


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://hub.example")
    monkeypatch.setattr(sources, "unreachable", lambda url: f"{url} does not answer within 5 s")


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script instead of npm."""
    path = tmp_path / "npm"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    path.touch(0o755)
    return path


def hub_problem() -> str | None:
    return next(iter(check_sources(CHECKPOINT, Path()).values()))


def npm_problem() -> str | None:
    return [*check_sources(CHECKPOINT, Path()).values()][1]


def test_check_sources_of_the_shipped_recipe(npm: Path) -> None:
    npm.write_text('#!/bin/sh\necho "$@" >&2; [ "$1 $3" = "view version" ]\n')
    (hub, reason), (package, problem) = check_sources(CHECKPOINT, Path()).items()
    assert hub == "huggingface hexgrad/Kokoro-82M"
    assert reason == "http://hub.example does not answer within 5 s"
    assert package.startswith("npm ")
    assert problem is None


def test_check_sources_shows_the_reason_of_npm(npm: Path) -> None:
    npm.write_text("#!/bin/sh\necho 'npm error code E404' >&2; exit 1\n")
    assert npm_problem() == "npm does not find it (code E404)"
    npm.write_text("#!/bin/sh\nexit 3\n")
    assert npm_problem() == "npm does not find it (exit status 3)"


def test_check_sources_reports_a_hanging_or_missing_npm(npm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm.write_text("#!/bin/sh\nexec sleep 100\n")
    monkeypatch.setattr(sources, "PROBE_TIMEOUT_S", 0.1)
    assert npm_problem() == "npm does not answer within 0 s"
    monkeypatch.setenv("PATH", "/nowhere")
    assert npm_problem() == "npm is not installed"


def test_check_sources_knows_hf_hub_offline(npm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm.write_text("#!/bin/sh\n")
    monkeypatch.setattr(sources, "unreachable", lambda url: None)
    assert hub_problem() is None
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert hub_problem() == "switched off by HF_HUB_OFFLINE"


def test_check_sources_looks_for_files(tmp_path: Path) -> None:
    result = CHECKPOINT.model_dump(mode="json")
    result["sources"] = [{"kind": "file", "path": "k.pth", "sha256": "0" * 64}]
    checkpoint = type(CHECKPOINT).model_validate(result, strict=False)
    assert check_sources(checkpoint, tmp_path) == {"file k.pth": "there is no file k.pth"}
    (tmp_path / "k.pth").touch()
    assert check_sources(checkpoint, tmp_path) == {"file k.pth": None}
