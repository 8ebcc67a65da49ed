"""Programs that recipes need, and verdicts of the doctor."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
import typer
from checkout import ROOT
from doit.exceptions import TaskFailed
from typer.testing import CliRunner

from kokoro_tvm.builder.diagnostics.doctor import examine
from kokoro_tvm.builder.engine.reporter import LineReporter
from kokoro_tvm.builder.needs import debian_packages, needs_of, require_tools
from kokoro_tvm.builder.tasks import recipe_tasks
from kokoro_tvm.cli.develop import doctor as command
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.recipe import Recipe, list_recipes, load_recipe

NAMES = list_recipes(ROOT / "recipes")


def recipe(name: str) -> Recipe:
    return load_recipe(name, ROOT / "recipes")


def packages(*words: str) -> list[str]:
    app = typer.Typer()
    app.command()(command.doctor)
    result = CliRunner().invoke(app, [*words, "--packages", "--root", str(ROOT)])
    assert result.exit_code == 0
    return result.stdout.splitlines()


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide all programs."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "chromium"))


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("cpu", {"g++"}),
        ("x86-64-v2", {"g++", "gcc", "libc6-dev", "qemu-user"}),
        ("linux-arm64", {"gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross", "lld", "qemu-user"}),
        (
            "linux-riscv64",
            {
                *("g++-riscv64-linux-gnu", "gcc-riscv64-linux-gnu", "libc6-dev-riscv64-cross"),
                *("lld", "qemu-user"),
            },
        ),
        (
            "metal-ios",
            {
                *("g++-aarch64-linux-gnu", "gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"),
                *("lld", "llvm", "qemu-user"),
            },
        ),
        ("windows-x86-64", {"gcc-mingw-w64-x86-64", "lld", "wine64"}),
        ("wasm", {"nodejs"}),
        ("webgpu", {"chromium"}),
        ("cuda", {"g++"}),
    ],
)
def test_debian_packages_of_recipes(name: str, needed: set[str]) -> None:
    assert set(debian_packages([recipe(name)])) == needed
    assert packages(name) == sorted(needed)


def test_doctor_lists_packages_of_all_recipes() -> None:
    assert packages() == debian_packages(map(recipe, NAMES))
    assert set(packages()) == {package for name in NAMES for package in packages(name)}


@pytest.mark.parametrize("name", NAMES)
def test_missing_program_names_a_listed_package(name: str, bare: None) -> None:
    for need in needs_of(recipe(name)):
        problem = need.program.check()
        if problem is not None and (match := re.search(r"apt-get install ([\w.+-]*[\w+])", problem)):
            assert match[1] in debian_packages([recipe(name)])


@pytest.mark.usefixtures("bare")
def test_require_tools_names_each_missing_program_in_one_line() -> None:
    with pytest.raises(BuildError) as caught:
        require_tools(recipe("linux-arm64"))
    programs = [line.split()[1] for line in str(caught.value).splitlines()]
    assert programs == ["aarch64-linux-gnu-gcc", "ld.lld", "qemu-aarch64"]


@pytest.mark.usefixtures("bare")
def test_doit_checks_tools_before_a_stage_runs(tmp_path: Path) -> None:
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")
    tasks = {
        task["basename"]: task for task in recipe_tasks(tmp_path, LineReporter(io.StringIO(), io.StringIO()))
    }
    own = [name for name in tasks if name.startswith("linux-arm64.") and name != "linux-arm64:tools"]
    assert len(own) > 20
    assert all("linux-arm64:tools" in tasks[name]["task_dep"] for name in own)
    assert "linux-arm64:tools" not in tasks["kokoro-82m.checkpoint"]["task_dep"]
    (check,) = tasks["linux-arm64:tools"]["actions"]
    assert isinstance(check(), TaskFailed)


@pytest.mark.slow("what is missing is programs alone: zig and NVRTC are there")
@pytest.mark.usefixtures("bare")
def test_doctor_says_what_a_recipe_misses(tmp_path: Path) -> None:
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")
    verdicts = {f.about: f for f in examine(tmp_path) if f.about.startswith("recipe ")}
    assert verdicts.keys() == {f"recipe {name}" for name in NAMES}
    lacks = "cannot be built here:"
    assert verdicts["recipe cpu"].message == f"{lacks} linker missing"
    assert verdicts["recipe linux-arm64"].message == f"{lacks} C compiler, linker, runner missing"
    assert verdicts["recipe wasm"].message == f"{lacks} runner missing"
    assert verdicts["recipe windows-x86-64"].message == f"{lacks} C compiler, linker, runner missing"
    assert {f.verdict for f in verdicts.values()} == {"note"}


@pytest.mark.slow("needs NVRTC")
def test_doctor_says_why_a_recipe_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "recipes").mkdir()
    for path in (ROOT / "recipes").glob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        if path.stem in ("kokoro-82m", "cuda"):
            text = text.replace("x86_64-linux-gnu}", "x86_64-linux-gnu, run: false}")
            (tmp_path / "recipes" / path.name).write_text(text, encoding="utf-8")
    (verdict,) = (f for f in examine(tmp_path) if f.about == "recipe cuda")
    assert verdict.message == ("can be built here and is not run: the recipe's host says `run: false`")
