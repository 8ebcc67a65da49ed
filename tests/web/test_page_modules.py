"""Modules of the page that need no browser, by Node's own tests."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

TESTS = sorted(Path(__file__).parent.glob("*.test.mjs"))
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="no Node here: `node` is not installed")
@pytest.mark.parametrize("file", TESTS, ids=lambda path: path.name.removesuffix(".test.mjs"))
def test_module(file: Path) -> None:
    assert NODE is not None
    done = subprocess.run([NODE, "--test", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
