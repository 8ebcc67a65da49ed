"""Fixtures: a folder of recipes, and the error for a faulty one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.recipe import check_file

HERE = Path(__file__).parent


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Copy the tests' recipes: toy (a model), here and full (targets)."""
    shutil.copytree(HERE / "recipes", tmp_path / "recipes")
    return tmp_path / "recipes"


@pytest.fixture
def refusal(root: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., RecipeError]:
    """Return a function that writes a recipe file and returns its error, with relative paths."""
    monkeypatch.chdir(root)

    def refuse(content: str | bytes, name: str = "here.yaml") -> RecipeError:
        (root / name).write_bytes(content.encode() if isinstance(content, str) else content)
        with pytest.raises(RecipeError) as caught:
            check_file(Path(name), Path())
        return caught.value

    return refuse
