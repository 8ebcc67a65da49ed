"""The command tree: imports and help."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from checkout import ROOT

from kokoro_tvm.cli import _app, build_app, main
from kokoro_tvm.cli._app import COMMANDS

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
    listed = capsys.readouterr().out.partition("--help")[2]
    assert listed.count("\n") > 2
    assert "..." not in listed and "…" not in listed
    assert max(map(len, listed.splitlines())) <= 80


def test_help_lists_commands_by_section(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    sections = re.findall(r"^(\w+):\n((?:  .+\n)+)", text, re.M)[1:]
    listed = {title: [row.split()[0] for row in rows.splitlines()] for title, rows in sections}
    assert [*listed] == ["Speak", "Build", "Inspect", "Publish", "Develop"]
    assert sorted(name for names in listed.values() for name in names) == sorted(COMMANDS)


def test_help_names_the_extra_of_commands_that_cannot_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_app, "find_spec", lambda name: None if name == "fastapi" else name)
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert "\n  serve " not in text
    assert text.endswith("\n`pip install 'kokoro-tvm[serve]'` adds serve.\n")


def test_shell_completes_commands_and_options() -> None:
    environment = {**os.environ, "_KOKORO_TVM_COMPLETE": "complete_bash"}
    for words, completion in ((("pho", 1), "phonemize"), (("phonemize --js", 2), "--json")):
        line = {"COMP_WORDS": f"kokoro-tvm {words[0]}", "COMP_CWORD": str(words[1])}
        done = subprocess.run(
            [Path(sys.executable).with_name("kokoro-tvm")],
            env=environment | line,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == [completion]


def test_quiet_and_verbose_stand_anywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, lines in ((["--quiet"], 0), ([], 1), (["--verbose"], 2)):
        with pytest.raises(SystemExit):
            main(["graph", "--root", str(ROOT), "-o", str(tmp_path / "stages.mmd"), *words])
        assert "".join(capsys.readouterr()).count("\n") == lines
