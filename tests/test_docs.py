"""The docs name everything there is, and nothing else. (Recipe fields: tests/recipe/test_shipped.py.)"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from kokoro_tvm import errors, passes, patches, runtime
from kokoro_tvm.build.graph import RecipeGraph
from kokoro_tvm.cli._app import build_app
from kokoro_tvm.recipe import json_schema, load_recipe

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "artifacts/README.md", *sorted((ROOT / "docs").glob("*.md")))
COMMON = {"--help"}  # every command has it; the first section says so


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    """What stands below a heading, up to the next of the same level."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"there is no section '{title}'"
    return found[1]


def first_column(text: str) -> list[str]:
    """The words in code type in the first column of the tables of a text."""
    cells = re.findall(r"^\| ([^|]*`[^|]*) \|", text, re.MULTILINE)
    return [word for cell in cells for word in re.findall(r"`([^`]+)`", cell)]


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command that does something, and the root for its options."""
    subcommands = getattr(command, "commands", {})
    if not subcommands or path == "kokoro-tvm":
        yield path, command
    for name, sub in subcommands.items():
        yield from commands(sub, f"{path} {name}")


COMMANDS = dict(commands(typer.main.get_command(build_app()), "kokoro-tvm"))


def test_every_command_has_a_section_and_no_other() -> None:
    titles = re.findall(r"^## (kokoro-tvm.*)$", read("docs/commands.md"), re.MULTILINE)
    assert sorted(titles) == sorted(COMMANDS)


@pytest.mark.parametrize("path", COMMANDS)
def test_every_option_and_argument_is_documented_and_no_other(path: str) -> None:
    named = set(first_column(section(read("docs/commands.md"), path)))
    metavars = {p.metavar for p in COMMANDS[path].params if p.param_type_name == "option" and p.metavar}
    there = set()
    for parameter in COMMANDS[path].params:
        if parameter.param_type_name == "option":
            there |= {*parameter.opts, *parameter.secondary_opts} - ({"-h"} | COMMON)
        else:
            there.add((parameter.metavar or parameter.name or "").strip("[].{}").upper())
    assert named - metavars - COMMON - {"-h"} == there


def test_patches() -> None:
    table = read("docs/patches.md").split("## ")[0]
    assert sorted(first_column(table)) == sorted(patches.available())


def test_passes() -> None:
    assert sorted(first_column(section(read("docs/build.md"), "Passes"))) == sorted(passes.available())


def test_stages(tmp_path: Path) -> None:
    graph = RecipeGraph(load_recipe("cpu-listened", ROOT / "recipes"), tmp_path, ROOT)
    there = {stage.name.split(".")[1] for stage in (*graph.stages(), graph.report)}
    assert sorted(first_column(section(read("docs/build.md"), "Stages"))) == sorted(there)


def test_gates() -> None:
    records = json_schema()["$defs"]
    named = re.findall(r"^\| `(\w+)` \|", section(read("docs/accuracy.md"), "Gates"), re.MULTILINE)
    fields = {
        field
        for name in ("SignalGate", "AudioGate", "CorpusGate", "IntelligibilityGate")
        for field in records[name]["properties"]
    }
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "kokoro_tvm/validate").glob("*.py"))
    always = set(re.findall(r'Verdict\(\s*"(\w+)"', code))
    assert len(always) == 3
    assert sorted(named) == sorted(fields | always | {"enforce"})


def test_exit_statuses() -> None:
    rows = re.findall(r"^\| (\d) \| (.*?) \|", section(read("docs/commands.md"), "Exit status"), re.MULTILINE)
    named = {(name, int(status)) for status, cell in rows for name in re.findall(r"`(\w+)`", cell)}
    assert named == {(name, getattr(errors, name).exit_code) for name in errors.__all__}


def test_environment_variables() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "kokoro_tvm").rglob("*.py"))
    read_ones = set(re.findall(r'environ(?:\.get\(|\[)"(\w+)"', code))
    assert set(first_column(section(read("docs/commands.md"), "Environment"))) == read_ones


def test_runtime_names() -> None:
    page = read("docs/runtime.md")
    assert [name for name in runtime.__all__ if not re.search(rf"`{name}\b", page)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def shown_commands() -> list[str]:
    """Lines of shell blocks that call kokoro-tvm."""
    blocks = [
        b for p in PAGES for b in re.findall(r"```sh\n(.*?)```", p.read_text(encoding="utf-8"), re.DOTALL)
    ]
    calls = (re.search(r"kokoro-tvm [^|]*", line) for block in blocks for line in block.splitlines())
    return sorted({call[0].partition(" #")[0].strip() for call in calls if call and "pip" not in call.string})


@pytest.mark.parametrize("line", shown_commands())
def test_shown_commands_are_understood(line: str) -> None:
    words = shlex.split(line)
    path = max((p for p in COMMANDS if words[: len(p.split())] == p.split()), key=len)
    COMMANDS[path].make_context(path, words[len(path.split()) :]).close()


def pasted_line(marker: str) -> str:
    """The one line of README.md's shell block below `<!-- marker -->`."""
    found = re.search(rf"^<!-- {marker} -->\n```sh\n(.+)\n```$", read("README.md"), re.MULTILINE)
    assert found, f"README.md has no single line below <!-- {marker} -->"
    return found[1]


def test_ci_runs_the_line_readme_gives_for_the_tests() -> None:
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").splitlines()[-1] == pasted_line("tests")


def test_pasted_lines_need_nothing_before_them() -> None:
    for marker in ("build", "tests"):
        assert pasted_line(marker).startswith("python3.11 -m venv .venv && .venv/bin/pip install -e ")


def test_pictures_are_light() -> None:
    pictures = [*(ROOT / "docs").glob("*.png"), *(ROOT / "docs").glob("*.svg")]
    assert len(pictures) == 4
    assert all(path.stat().st_size < 300_000 for path in pictures)
