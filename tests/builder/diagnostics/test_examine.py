"""What is asked of the machine at hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kokoro_tvm.builder.diagnostics import doctor
from kokoro_tvm.builder.diagnostics.doctor import Pin, examine
from kokoro_tvm.common import packages
from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.native.toolchains import gnu
from kokoro_tvm.recipe import list_recipes, load_recipe

ROOT = Path(__file__).parents[3]


def test_this_machine_can_run_these_tests(tmp_path: Path) -> None:
    """So a build can be made on it, whatever else is missing; everything is really looked at."""
    (tmp_path / "recipes").mkdir()
    for path in (ROOT / "recipes").glob("*.yaml"):
        (tmp_path / "recipes" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "recipes" / "mine.yaml").write_text("model: kokoro-82m\n", encoding="utf-8")
    findings = examine(tmp_path)
    assert not {f.about for f in findings if f.verdict == "wrong"} - {"memory", "disk"}
    found = {f.about: f.message for f in findings}
    assert found["compiler"].startswith("TVM 0.27.0")
    assert found.keys() > {"packages", "packages [test]", "linker"}
    assert "mine.yaml:" in found["recipe mine"]
    assert "huggingface" in found["model kokoro-82m"]
    assert not list(tmp_path.glob("artifacts/*")), "looking leaves nothing behind"


def test_what_recipes_need() -> None:
    recipes = [load_recipe(name, ROOT / "recipes") for name in list_recipes(ROOT / "recipes")]
    users = {(tool.about, name) for tool in doctor._tools(recipes) for name in tool.recipes}
    assert users >= {(about, "linux-arm64") for about in ("linker", "runner", "C compiler")}
    assert users >= {(about, "linux-riscv64") for about in ("C compiler", "C++ compiler")}
    _, needs = doctor._compiler(recipes)
    assert {"avx2", "fma"} <= set(needs["x86-64-v3"])
    assert "avx512f" in needs["x86-64-v4"]


def test_no_recipes(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="there is no such folder of recipes"):
        examine(tmp_path)


@pytest.mark.parametrize(
    ("installed", "met"), [("1.2.0", True), ("1.2.0+cpu", True), ("1.2.1", False), (None, False)]
)
def test_pins(installed: str | None, met: bool) -> None:
    pin = Pin("some_thing[en]==1.2.0", installed)
    assert pin.name == "some_thing"
    assert pin.is_met is met


def test_a_package_without_its_checkout_knows_its_pins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_PYPROJECT", Path("/nowhere/pyproject.toml"))
    requires = ["numpy>=2", 'torch==2.13.0; extra == "build"', 'absent==1.0; extra == "lab"']
    monkeypatch.setattr(packages.importlib.metadata, "requires", lambda name: requires)
    pins = doctor._pins()
    assert [(p.requirement, p.extra) for p in pins] == [
        ("numpy>=2", ""),
        ("torch==2.13.0", ""),
        ("absent==1.0", "lab"),
    ]
    assert pins[2].installed is None


def test_a_compiler_that_breaks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho 'ImportError: libz.so' >&2\nexit 1\n", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    assert doctor._compiler([])[0].message == "TVM does not load: ImportError: libz.so"
    fake.write_text("#!/bin/sh\nkill -SEGV $$\n", encoding="utf-8")
    assert doctor._compiler([])[0].message == "TVM does not load: it was ended by signal SIGSEGV"
    fake.write_text("#!/bin/sh\nexec sleep 100\n", encoding="utf-8")
    monkeypatch.setattr(doctor, "_PATIENCE", 0.1)
    assert doctor._compiler([])[0].message == "TVM did not load within 0.1 s"


def test_a_linker_that_is_missing_or_does_not_link(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recipes = [load_recipe("cpu", ROOT / "recipes")]
    problem, found = doctor._linkers(recipes)
    assert found.message.startswith("g++ ")
    assert problem is None

    failing = tmp_path / "failing"
    failing.write_text('#!/bin/sh\n[ "$1" = --version ] && echo g++ 1 && exit\necho no -lstdc++; exit 1\n')
    failing.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setattr(gnu.Gnu, "command", str(failing))
        problem, found = doctor._linkers(recipes)
        assert problem == "g++ 1 could not link probe.so: exit status 1: no -lstdc++."
        assert (found.verdict, found.message) == ("wrong", problem)
    monkeypatch.setattr(gnu.Gnu, "command", "no-such-linker")
    problem, found = doctor._linkers(recipes)
    assert problem is not None
    assert found.message == problem
    assert problem.startswith("no working no-such-linker to link with")


def test_memory(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    assert doctor._available_memory(meminfo) is None
    meminfo.write_text("MemTotal:       1000 kB\nMemAvailable:    12345 kB\nHugePages_Total:       0\n")
    assert doctor._available_memory(meminfo) == 12345 * 1024


def test_a_shared_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KOKORO_TVM_CACHE_MODE", raising=False)
    monkeypatch.delenv("KOKORO_TVM_CACHE_KEY", raising=False)
    monkeypatch.delenv("KOKORO_TVM_CACHE", raising=False)
    assert doctor._cache() == ("", None)
    monkeypatch.setenv("KOKORO_TVM_CACHE", str(tmp_path))
    assert doctor._cache() == (f"{tmp_path}, read-write", None)
    assert not list(tmp_path.iterdir()), "it leaves nothing behind"
    (tmp_path / "file").touch()
    monkeypatch.setenv("KOKORO_TVM_CACHE", str(tmp_path / "file" / "cache"))
    problem = doctor._cache()[1]
    assert problem is not None
    assert "(NotADirectoryError" in problem
    monkeypatch.setenv("KOKORO_TVM_CACHE", "http://127.0.0.1:9/cache")  # where nobody listens
    result, problem = doctor._cache()
    assert result == ""
    assert problem is not None
    assert "is not encrypted" in problem
    monkeypatch.setenv("KOKORO_TVM_CACHE_KEY", "0123456789abcdef")
    result, problem = doctor._cache()
    assert result == "http://127.0.0.1:9/cache, read-only, signed"
    assert problem is not None
    assert "http://127.0.0.1:9/cache" in problem
    monkeypatch.setenv("KOKORO_TVM_CACHE_MODE", "sometimes")
    assert doctor._cache()[1] == "KOKORO_TVM_CACHE_MODE is 'sometimes'; it can be read-only, read-write, off."


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc, where nothing can be written")
def test_a_folder_that_cannot_be_written() -> None:
    result = doctor._write_problem(Path("/proc/1/artifacts"))
    assert result is not None
    assert "/proc/1" in result
