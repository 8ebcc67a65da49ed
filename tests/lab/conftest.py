"""Laboratories over the toy's bundles."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from kokoro_tvm.lab.setting import Lab


@pytest.fixture(scope="session")
def lab(others: Path, toy_root: Path) -> Callable[[str], Lab]:
    """The laboratory of a recipe of the toy's."""
    return cache(lambda name: Lab.open(others / name, toy_root))
