"""Laboratories over the toy's bundles."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from small_model import config, references, state, utterances, voices  # noqa: F401  (fixtures)

from kokoro_tvm.tools.lab.setting import Lab


@pytest.fixture(scope="session")
def lab(others: Path) -> Callable[[str], Lab]:
    """Return a function that opens the lab of one of the toy's recipes."""
    return cache(lambda name: Lab.open(others / name, others.parent))
