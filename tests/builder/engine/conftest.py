"""What tests of children share."""

from __future__ import annotations

import pytest

from kokoro_tvm.builder.engine import child


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs of life come ten times a second."""
    monkeypatch.setattr(child, "_BEAT", 0.1)
