"""Fixtures for tests of workers."""

from __future__ import annotations

import pytest

from kokoro_tvm.builder.engine import worker


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call `beat` ten times a second."""
    monkeypatch.setattr(worker, "_BEAT_S", 0.1)
