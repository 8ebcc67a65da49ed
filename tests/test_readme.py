"""Run what README.md shows, with a small bundle instead of `artifacts/cpu`."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

from kokoro_tvm.recipe import load_recipe

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def say_lines() -> list[str]:
    """Return the commands of the block below `<!-- say -->`, without their comments."""
    match = re.search(r"<!-- say -->\n```sh\n(.*?)```", README, re.DOTALL)
    assert match is not None
    return [shlex.join(shlex.split(line, comments=True)) for line in match[1].splitlines()]


@pytest.fixture(scope="module")
def folder(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like a clone in which `doit` ran."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(toy, folder / "artifacts" / "cpu", copy_function=os.link)
    (folder / "docs").symlink_to(ROOT / "docs")
    (folder / ".venv").symlink_to(Path(sys.executable).parents[1])
    return folder


@pytest.mark.parametrize("line", say_lines())
def test_readme_command_runs(line: str, folder: Path) -> None:
    result = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr


def test_readme_python_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (code,) = blocks("python")
    names: dict[str, object] = {}
    exec(code, names)
    assert names["speech"].audio.size > 0  # type: ignore[attr-defined]


def test_readme_recipe_is_valid(tmp_path: Path) -> None:
    (recipe,) = blocks("yaml")
    shutil.copytree(ROOT / "recipes", tmp_path / "recipes")
    (tmp_path / "recipes" / "pi.yaml").write_text(recipe, encoding="utf-8")
    assert load_recipe("pi", tmp_path / "recipes").utterances
