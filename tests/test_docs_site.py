"""Build the documentation site."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT


@pytest.mark.slow("needs Sphinx")
def test_docs_site_builds_without_a_warning(tmp_path: Path) -> None:
    for name in ("docs", "recipes", "dodo.py", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    doit = str(Path(sys.executable).with_name("doit"))
    result = subprocess.run([doit, "docs"], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "artifacts" / "docs" / "index.html").exists()
