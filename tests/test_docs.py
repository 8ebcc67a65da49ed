"""Test that the docs list what the code has. (Recipe fields: tests/recipe/test_shipped.py.)"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
from pathlib import Path

import pytest
import typer
from recipe_fields import recipe_fields
from reference_pages import commands, generated

from kokoro_tvm import runtime
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.cli import build_app
from kokoro_tvm.common import errors
from kokoro_tvm.compiler import passes
from kokoro_tvm.model import patches
from kokoro_tvm.recipe import load_recipe

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "artifacts/README.md", *sorted((ROOT / "docs").rglob("*.md")))


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    """Return the text below a heading, up to the next heading of its level."""
    match = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert match, f"there is no section '{title}'"
    return match[1]


def first_column(text: str) -> list[str]:
    """Return the code spans in the first column of the tables of a text."""
    cells = re.findall(r"^\| ([^|]*`[^|]*) \|", text, re.MULTILINE)
    return [word for cell in cells for word in re.findall(r"`([^`]+)`", cell)]


COMMANDS = dict(commands(typer.main.get_command(build_app())))


def test_commands_page_has_a_section_per_command() -> None:
    titles = re.findall(r"^## (kokoro-tvm.*)$", read("docs/commands.md"), re.MULTILINE)
    assert sorted(titles) == sorted(COMMANDS)


def test_patches_page_lists_every_patch() -> None:
    table = read("docs/patches.md").split("## ")[0]
    assert sorted(first_column(table)) == sorted(patches.list_patches())


def test_kernels_page_lists_every_pass() -> None:
    assert sorted(first_column(section(read("docs/kernels.md"), "Passes"))) == sorted(passes.list_passes())


def test_build_page_lists_every_stage(tmp_path: Path) -> None:
    names = set()
    for recipe in ("cpu-listened", "cuda", "webgpu"):
        graph = RecipeGraph(load_recipe(recipe, ROOT / "recipes"), tmp_path, ROOT)
        names |= {stage.name.split(".")[1] for stage in (*graph.stages(), graph.report)}
    assert sorted(first_column(section(read("docs/build.md"), "Stages"))) == sorted(names)


def test_accuracy_page_lists_every_gate() -> None:
    listed = re.findall(
        r"^\| `(\w+)` \|", section(read("docs/accuracy.md"), "Gates").split("### ")[0], re.MULTILINE
    )
    paths = (field.path.split(".") for field in recipe_fields("ModelFile"))
    gates = {path[-1] for path in paths if path[0] == "gates"} - {"extends"}
    code = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "kokoro_tvm/validation/measure").glob("*.py")
    )
    always = set(re.findall(r'(?:Verdict|none_off)\(\s*"(\w+)"', code))
    assert len(always) == 8
    assert sorted(listed) == sorted(gates | always)


def test_commands_page_lists_every_exit_status() -> None:
    rows = re.findall(r"^\| (\d) \| (.*?) \|", section(read("docs/commands.md"), "Exit status"), re.MULTILINE)
    listed = {(name, int(status)) for status, cell in rows for name in re.findall(r"`(\w+)`", cell)}
    assert listed == {
        (name, getattr(errors, name).exit_code) for name in vars(errors) if name.endswith("Error")
    }


def test_commands_page_lists_every_environment_variable() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "kokoro_tvm").rglob("*.py"))
    variables = set(re.findall(r'environ(?:\.get\(|\[)"(\w+)"', code))
    assert set(first_column(section(read("docs/commands.md"), "Environment"))) == variables


def test_runtime_page_names_the_public_interface() -> None:
    page = read("docs/runtime.md")
    assert [name for name in runtime.__all__ if not re.search(rf"`{name}\b", page)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_pages_resolve(page: Path) -> None:
    text = re.sub(r"`[^`\n]+`", "", page.read_text(encoding="utf-8"))  # markup shown as such is no link
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", text):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_that_pages_run_exist(page: Path) -> None:
    for module in re.findall(r"python -m (kokoro_tvm[\w.]*)", page.read_text(encoding="utf-8")):
        assert importlib.util.find_spec(module), module


def shown_commands() -> list[str]:
    """Return the calls of kokoro-tvm in shell blocks."""
    blocks = [
        b for p in PAGES for b in re.findall(r"```sh\n(.*?)```", p.read_text(encoding="utf-8"), re.DOTALL)
    ]
    calls = (re.search(r"kokoro-tvm [^|]*", line) for block in blocks for line in block.splitlines())
    return sorted({call[0].partition(" #")[0].strip() for call in calls if call and "pip" not in call.string})


@pytest.mark.parametrize("line", shown_commands())
def test_commands_shown_in_pages_parse(line: str) -> None:
    words = shlex.split(line)
    path = max((p for p in COMMANDS if words[: len(p.split())] == p.split()), key=len)
    COMMANDS[path].make_context(path, words[len(path.split()) :]).close()


def pasted_line(marker: str) -> str:
    """Return the line of README.md's shell block below `<!-- marker -->`."""
    match = re.search(rf"^<!-- {marker} -->\n```sh\n(.+)\n```$", read("README.md"), re.MULTILINE)
    assert match, f"README.md has no single line below <!-- {marker} -->"
    return match[1]


@pytest.mark.parametrize(("marker", "name"), [("tests", "run"), ("slow tests", "slow")])
def test_ci_runs_the_line_of_the_readme(marker: str, name: str) -> None:
    script = ROOT / ".ci" / name
    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").splitlines()[-1] == pasted_line(marker)


TABLES = generated()


@pytest.mark.parametrize(("page", "marker"), sorted(TABLES))
def test_generated_tables_are_current(page: str, marker: str) -> None:
    """If not: .venv/bin/python docs/reference_pages.py"""
    match = re.search(
        rf"<!-- {re.escape(marker)} -->\n(.*?)<!-- /{re.escape(marker)} -->", read(f"docs/{page}"), re.DOTALL
    )
    assert match, f"docs/{page} has no place for {marker}"
    assert match[1].strip() == TABLES[page, marker]
