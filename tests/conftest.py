"""What every test shares: the markers."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "weights: needs the real weights; fetches them into artifacts/checkpoint when they are not there",
    )
