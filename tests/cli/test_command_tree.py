"""The command tree: imports and help."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from kokoro_tvm.cli import build_app, main

_IMPORTED = """
import sys
from kokoro_tvm.cli._app import COMMANDS, main
try:
    main(sys.argv[1:])
except SystemExit:
    print(*(name for name in COMMANDS if f"kokoro_tvm.cli.{COMMANDS[name]}.{name}" in sys.modules))
"""


def _imported(*words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTED, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1].split()


def test_command_line_imports_its_command_alone() -> None:
    assert _imported("--debug", "say", "--help") == ["say"]
    assert _imported("recipe", "show", "--help") == ["recipe"]


def test_help_imports_every_command() -> None:
    assert "say" in _imported("--help") and "probe" in _imported("--help")


def groups(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every group of commands."""
    if subcommands := getattr(command, "commands", {}):
        yield words
        for name, subcommand in subcommands.items():
            yield from groups(subcommand, (*words, name))


@pytest.mark.parametrize("words", [*groups(typer.main.get_command(build_app()))], ids=" ".join)
def test_help_lists_whole_first_lines_in_80_columns(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    listed = capsys.readouterr().out.partition("Commands:\n")[2]
    assert listed
    assert "..." not in listed
