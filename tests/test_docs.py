"""The docs name everything there is, and nothing else. (Recipe fields: tests/recipe/test_shipped.py.)"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import machines_table
import pytest
import typer
from markdown_tables import rows_of
from recipe_fields import recipe_fields
from reference_pages import commands, generated

from kokoro_tvm import runtime
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.cli import build_app
from kokoro_tvm.common import errors
from kokoro_tvm.compiler import passes
from kokoro_tvm.model import patches
from kokoro_tvm.recipe import load_recipe
from kokoro_tvm.validation.reference.corpus import corpus

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


COMMANDS = dict(commands(typer.main.get_command(build_app())))


def test_every_command_has_a_section_and_no_other() -> None:
    titles = re.findall(r"^## (kokoro-tvm.*)$", read("docs/commands.md"), re.MULTILINE)
    assert sorted(titles) == sorted(COMMANDS)


def test_figures_of_earlier_kernels_say_so() -> None:
    """Where this fails, kernels have changed: `python docs/machines_table.py`."""
    rows = rows_of(machines_table.PAGE, "bench-machines")
    assert rows == list(machines_table.marked(rows))


def test_patches() -> None:
    table = read("docs/patches.md").split("## ")[0]
    assert sorted(first_column(table)) == sorted(patches.list_patches())


def test_passes() -> None:
    assert sorted(first_column(section(read("docs/build.md"), "Passes"))) == sorted(passes.list_passes())


def test_stages(tmp_path: Path) -> None:
    there = set()
    for recipe in ("cpu-listened", "cuda", "webgpu"):
        graph = RecipeGraph(load_recipe(recipe, ROOT / "recipes"), tmp_path, ROOT)
        there |= {stage.name.split(".")[1] for stage in (*graph.stages(), graph.report)}
    assert sorted(first_column(section(read("docs/build.md"), "Stages"))) == sorted(there)


def test_gates() -> None:
    named = re.findall(
        r"^\| `(\w+)` \|", section(read("docs/accuracy.md"), "Gates").split("### ")[0], re.MULTILINE
    )
    paths = (field.path.split(".") for field in recipe_fields("ModelFile"))
    gates = {path[-1] for path in paths if path[0] == "gates"} - {"extends"}
    code = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "kokoro_tvm/validation/measure").glob("*.py")
    )
    always = set(re.findall(r'(?:Verdict|none_off)\(\s*"(\w+)"', code))
    assert len(always) == 8
    assert sorted(named) == sorted(gates | always)


def test_readme_claims_the_gain_that_the_gates_ask() -> None:
    text = " ".join(read("README.md").split())
    claim = (
        r"nearer to it than PyTorch's own float32 is: by (\d+) dB or more on each of the (\d+) utterances of "
        r"every build\. On the corpus of (\d+) \(`kokoro-tvm validate e2e --corpus`\) the gates ask for "
        r"(\d+) dB or more on each and (\d+) dB or more at the median: "
    )
    found = re.search(claim, text)
    assert found, "README.md does not say by how much it is nearer than PyTorch float32"
    recipe = load_recipe("cpu", ROOT / "recipes")
    speech, on_corpus = recipe.gates.speech, recipe.gates.corpus
    assert recipe.gates.enforce
    assert [float(number) for number in found.groups()] == [
        speech.min_gain_db,
        len(recipe.utterances),
        len(corpus()),
        on_corpus.min_gain_db,
        on_corpus.min_median_gain_db,
    ]


def test_exit_statuses() -> None:
    rows = re.findall(r"^\| (\d) \| (.*?) \|", section(read("docs/commands.md"), "Exit status"), re.MULTILINE)
    named = {(name, int(status)) for status, cell in rows for name in re.findall(r"`(\w+)`", cell)}
    assert named == {
        (name, getattr(errors, name).exit_code) for name in errors.__all__ if name.endswith("Error")
    }


def test_environment_variables() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "kokoro_tvm").rglob("*.py"))
    read_ones = set(re.findall(r'environ(?:\.get\(|\[)"(\w+)"', code))
    assert set(first_column(section(read("docs/commands.md"), "Environment"))) == read_ones


def test_runtime_names() -> None:
    page = read("docs/runtime.md")
    assert [name for name in runtime.__all__ if not re.search(rf"`{name}\b", page)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"`[^`\n]+`", "", page.read_text(encoding="utf-8"))  # markup shown as such is no link
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", text):
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


@pytest.mark.parametrize(("marker", "name"), [("tests", "run"), ("slow tests", "slow")])
def test_ci_runs_the_line_readme_gives(marker: str, name: str) -> None:
    script = ROOT / ".ci" / name
    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").splitlines()[-1] == pasted_line(marker)


def test_pasted_lines_need_nothing_before_them() -> None:
    for marker in ("build", "tests", "slow tests"):
        assert re.match(
            r"python3 -m venv \.venv && \.venv/bin/pip install (--no-compile )?-e ", pasted_line(marker)
        )


def test_pictures_are_light() -> None:
    pictures = [*(ROOT / "docs").glob("*.png"), *(ROOT / "docs").glob("*.svg")]
    assert len(pictures) == 7
    assert all(path.stat().st_size < 300_000 for path in pictures)


TABLES = generated()


@pytest.mark.parametrize(("page", "marker"), sorted(TABLES))
def test_generated_tables_are_current(page: str, marker: str) -> None:
    """If not: .venv/bin/python docs/reference_pages.py"""
    found = re.search(
        rf"<!-- {re.escape(marker)} -->\n(.*?)<!-- /{re.escape(marker)} -->", read(f"docs/{page}"), re.DOTALL
    )
    assert found, f"docs/{page} has no place for {marker}"
    assert found[1].strip() == TABLES[page, marker]
