"""Errors of a missing package name it and the extra that installs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

from kokoro_tvm.common.packages import advice

# Stands in for an environment without the packages: neither their versions nor their modules are found.
HIDE = """
import importlib.metadata, sys

HIDDEN = {hidden!r}
distribution = importlib.metadata.distribution

def without(name):
    if name in HIDDEN:
        raise importlib.metadata.PackageNotFoundError(name)
    return distribution(name)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name in HIDDEN:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

importlib.metadata.distribution = without
importlib.metadata.version = lambda name: without(name).version
sys.meta_path.insert(0, Finder())
"""


def run(folder: Path, hidden: list[str], *command: str) -> subprocess.CompletedProcess[str]:
    for name in ("recipes", "dodo.py"):
        if not (folder / name).exists():
            (shutil.copytree if name == "recipes" else shutil.copy)(ROOT / name, folder / name)
    (folder / "sitecustomize.py").write_text(HIDE.format(hidden=hidden), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    program = Path(sys.executable).with_name(command[0])
    return subprocess.run(
        [program, *command[1:]], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize("words", ["plan", "status", "explain cpu", "graph cpu", "build"])
@pytest.mark.parametrize("package", ["torch", "pydantic", "doit"])
def test_command_names_a_missing_package_and_its_extra(words: str, package: str, tmp_path: Path) -> None:
    done = run(tmp_path, [package], "kokoro-tvm", *words.split())
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert f" {package}" in done.stderr
    assert done.stderr.endswith("Run `pip install 'kokoro-tvm[build]'`.\n")


@pytest.mark.parametrize("package", ["torch", "pydantic"])
def test_doit_names_a_missing_package_and_its_extra(package: str, tmp_path: Path) -> None:
    done = run(tmp_path, [package], "doit", "cpu")
    assert done.returncode == 3
    assert done.stderr == (
        f"ERROR: The package is not installed that builds need: {package}. "
        "Run `pip install 'kokoro-tvm[build]'`.\n"
    )


def test_doit_prints_an_error_of_the_project_unchanged(tmp_path: Path) -> None:
    (tmp_path / "recipes").mkdir()
    done = run(tmp_path, [], "doit", "cpu")
    assert done.returncode == 2
    assert done.stderr.startswith("ERROR: ")
    assert "the folder holds no recipe" in done.stderr
    assert "Traceback" not in done.stderr


def test_advice_names_the_extra() -> None:
    assert advice(["torch", "yaml"]) == "pip install 'kokoro-tvm[build]'"
    assert advice(["lameenc"]) in ("pip install 'kokoro-tvm[serve]'", "pip install 'kokoro-tvm[test]'")
    assert advice(["nobody-has-it"]) == "pip install nobody-has-it"
