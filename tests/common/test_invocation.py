"""Command lines in messages."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kokoro_tvm.common.invocation import localize, program


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of an environment's scripts, which is not on PATH."""
    folder = tmp_path / ".venv" / "bin"
    folder.mkdir(parents=True)
    for name in ("python", "kokoro-tvm"):
        (folder / name).touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.chdir(tmp_path)
    return folder


def test_program_returns_the_path_from_here(scripts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert program("kokoro-tvm") == ".venv/bin/kokoro-tvm"
    (scripts / "elsewhere").mkdir()
    monkeypatch.chdir(scripts / "elsewhere")
    assert program("kokoro-tvm") == str(scripts / "kokoro-tvm")


def test_program_returns_the_name_if_path_leads_to_it(scripts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(scripts))
    assert program("kokoro-tvm") == "kokoro-tvm"


def test_program_returns_the_path_if_path_leads_to_another(
    scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kokoro-tvm").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program("kokoro-tvm") == ".venv/bin/kokoro-tvm"


def test_program_returns_the_name_of_a_missing_script(scripts: Path) -> None:
    assert program("doit") == "doit"


def test_localize_replaces_programs_of_command_lines(scripts: Path) -> None:
    message = "kokoro-tvm fails: `kokoro-tvm gc` makes room in `x/kokoro-tvm`, and `kokoro-tvm-old` is gone."
    assert localize(message) == message.replace("`kokoro-tvm gc`", "`.venv/bin/kokoro-tvm gc`")
