"""Children that can be told to do what fakes.py knows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kokoro_tvm.build import child, stage


@pytest.fixture(scope="session", autouse=True)
def _fakes_can_be_imported() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        yield


@pytest.fixture
def fake_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions of stages are those of fakes.py, and their code counts as the same for ever."""
    monkeypatch.setattr(stage, "_STAGES", "fakes")
    monkeypatch.setattr(stage, "_COMPILER", ("fakes",))
    monkeypatch.setattr(
        stage,
        "_NEED_COMPILER",
        {"write", "append", "span", "nothing", "refuse", "stumble", "several", "half"},
    )
    monkeypatch.setattr(stage, "function_code", lambda module, name: ("code", []))


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs of life come ten times a second."""
    monkeypatch.setattr(child, "_BEAT", 0.1)
