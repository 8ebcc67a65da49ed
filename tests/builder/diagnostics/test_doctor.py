"""Findings about this machine, and about machines with faults."""

from __future__ import annotations

import io
import sys
from collections.abc import Collection
from pathlib import Path

import pytest
from rich.console import Console

from kokoro_tvm.builder.diagnostics import doctor
from kokoro_tvm.builder.diagnostics.doctor import Finding, examine
from kokoro_tvm.builder.diagnostics.hardware import MachineInfo
from kokoro_tvm.builder.needs import Need, needs_of
from kokoro_tvm.cli.develop.doctor import table
from kokoro_tvm.common import packages
from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.native.toolchains import gnu
from kokoro_tvm.recipe import Recipe, load_recipe
from kokoro_tvm.runtime.text.frontend.packages import LanguagePackages
from kokoro_tvm.targets import resolve

ROOT = Path(__file__).parents[3]
INSTALLED, ABSENT = (
    LanguagePackages("espeak-ng", "espeak", {"espeakng-loader": module})
    for module in ("json", "no_such_module")
)
V3 = resolve(load_recipe("x86-64-v3", ROOT / "recipes").target).required
MACHINE = MachineInfo(cpu="A CPU", cores=1, memory_bytes=None, system="Linux 6", python="3.11")


def recipe(name: str) -> Recipe:
    return load_recipe(name, ROOT / "recipes")


def need(name: str, about: str) -> Need:
    return next(need for need in needs_of(recipe(name)) if need.about == about)


def test_examine_checks_this_machine(tmp_path: Path) -> None:
    (tmp_path / "recipes").mkdir()
    for path in (ROOT / "recipes").glob("*.yaml"):
        (tmp_path / "recipes" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "recipes" / "mine.yaml").write_text("model: kokoro-82m\n", encoding="utf-8")
    findings = examine(tmp_path)
    # This machine runs the tests, so it can build, unless others take its memory or disk.
    assert not {f.about for f in findings if f.verdict == "wrong"} - {"memory", "disk"}
    assert all(f.remedy for f in findings if f.verdict == "wrong")
    messages = {f.about: f.message for f in findings}
    assert messages["compiler"].startswith("TVM 0.27.0")
    assert messages.keys() > {"Python", "packages", "packages [test]", "linker", "processor", "cache"}
    assert "mine.yaml:" in messages["recipe mine"]
    assert "huggingface" in messages["model kokoro-82m"]
    assert not list(tmp_path.glob("artifacts/*"))


def test_examine_checks_what_a_recipe_needs_alone() -> None:
    findings = examine(ROOT, ["cpu"])
    assert [f.about for f in findings if f.about.startswith(("recipe", "packages"))] == [
        "packages",
        "recipe cpu",
    ]
    assert "linker" in [f.about for f in findings]


def test_examine_refuses_a_folder_without_recipes(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="there is no such folder of recipes"):
        examine(tmp_path)


def test_table_folds_at_80_columns() -> None:
    out = io.StringIO()
    findings = [
        Finding("linker", "wrong", "no working g++", "install it"),
        Finding("disk", "fine", "x " * 50),
    ]
    Console(file=out, width=80).print(table(findings))
    lines = out.getvalue().splitlines()
    assert [line.rstrip() for line in lines[:2]] == ["wrong  linker  no working g++", f"{'':15}→ install it"]
    assert max(map(len, lines)) <= 80
    assert lines[3].startswith(" " * 15 + "x")


@pytest.mark.parametrize(
    ("finding", "verdict"),
    [
        (doctor.check_python("3.10.2"), "wrong"),
        (doctor.check_python("3.12.2"), "fine"),
        (doctor.check_processor(MACHINE, None), "note"),
        (doctor.check_processor(MACHINE, frozenset()), "fine"),
        (*doctor.check_languages({"Hindi": INSTALLED}), "fine"),
        (*doctor.check_languages({"Hindi": ABSENT}), "note"),
        (doctor.check_memory(doctor.BUILD_MEMORY - 1), "wrong"),
        (doctor.check_memory(doctor.BUILD_MEMORY), "fine"),
        (doctor.check_memory(None), "note"),
        (doctor.check_checkpoint("kokoro-82m", None), "fine"),
        (doctor.check_checkpoint("kokoro-82m", {"file a": "gone", "npm b": None}), "fine"),
        (doctor.check_checkpoint("kokoro-82m", {"file a": "gone"}), "note"),
    ],
)
def test_check_verdict(finding: Finding, verdict: str) -> None:
    assert finding.verdict == verdict
    assert finding.remedy or verdict != "wrong"


@pytest.mark.parametrize(
    ("pin", "extra", "version", "verdict", "message"),
    [
        ("torch==2.13.0", "", "2.13.0+cpu", "fine", "all 1 as pinned"),
        ("torch==2.13.0", "", "2.13.1", "wrong", "torch is 2.13.1, not 2.13.0"),
        ("misaki[en]==0.9.4", "", None, "wrong", "misaki is not installed"),
        ("ruff==0.17.5", "test", "0.17.6", "note", "ruff is 0.17.6, not 0.17.5"),
        ("onnxruntime==1.31.1", "lab", None, "note", "not installed; only this extra needs them"),
    ],
)
def test_check_packages_compares_versions_with_pins(
    monkeypatch: pytest.MonkeyPatch, pin: str, extra: str, version: str | None, verdict: str, message: str
) -> None:
    monkeypatch.setattr(doctor, "find_version", lambda name: version)
    (finding,) = doctor.check_packages([(pin, extra)])
    assert (finding.verdict, finding.message) == (verdict, message)
    if verdict != "fine":
        assert finding.remedy is not None
        assert finding.remedy.endswith(f" -m pip install -e '.[{extra or 'build'}]'")


def test_pins_without_a_checkout_are_those_of_the_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_PYPROJECT", Path("/nowhere/pyproject.toml"))
    requires = ["numpy>=2", 'torch==2.13.0; extra == "build"', 'absent==1.0; extra == "lab"']
    monkeypatch.setattr(packages.importlib.metadata, "requires", lambda name: requires)
    assert doctor._pins() == [("numpy>=2", ""), ("torch==2.13.0", ""), ("absent==1.0", "lab")]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'ImportError: libz.so' >&2; exit 1", "TVM does not load: ImportError: libz.so"),
        ("kill -SEGV $$", "TVM does not load: signal SIGSEGV ended it"),
        ("exec sleep 100", "TVM did not load within 0.1 s"),
    ],
)
def test_check_compiler_reports_a_broken_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, message: str
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    if "sleep" in script:
        monkeypatch.setattr(doctor, "_IMPORT_TIMEOUT_S", 0.1)
    finding = doctor.check_compiler()
    assert (finding.verdict, finding.message) == ("wrong", message)


def test_missing_program_is_wrong_if_a_named_recipe_or_one_of_ci_needs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    linker, runner = need("cpu", "linker"), need("wasm", "runner")
    (finding,) = doctor.check_programs([(linker, [recipe("cpu")], None)], ())
    assert (finding.verdict, finding.message[:4], finding.message[-9:]) == ("fine", "g++ ", ", for cpu")
    script = tmp_path / "failing"
    script.write_text('#!/bin/sh\n[ "$1" = --version ] && echo g++ 1 && exit\necho no -lstdc++; exit 1\n')
    script.chmod(0o755)
    monkeypatch.setattr(gnu.Gnu, "command", str(script))
    problem = linker.program.check()
    assert problem == "g++ 1 could not link probe.so: exit status 1: no -lstdc++."
    (finding,) = doctor.check_programs([(linker, [recipe("cpu")], problem)], ["cpu"])
    assert finding == Finding("linker", "wrong", problem.removesuffix("."), "apt-get install g++")
    absent = "no Node: apt-get install nodejs."
    (finding,) = doctor.check_programs([(runner, [recipe("wasm")], absent)], ())
    assert finding == Finding("runner", "note", "no Node, for wasm", "apt-get install nodejs")
    (finding,) = doctor.check_programs([(runner, [recipe("wasm")], absent)], ["wasm"])
    assert finding == Finding("runner", "wrong", "no Node", "apt-get install nodejs")


def test_check_programs_reports_a_missing_program_once() -> None:
    problem = "no clang: apt-get install clang."
    programs = [
        (need("linux-arm64", "linker"), [recipe("linux-arm64")], problem),
        (need("linux-arm64", "C compiler"), [recipe("linux-arm64"), recipe("linux-riscv64")], problem),
    ]
    (finding,) = doctor.check_programs(programs, ())
    assert finding.about == "linker, C compiler"
    assert finding.message == "no clang, for linux-arm64, linux-riscv64"


@pytest.mark.parametrize(
    ("name", "obstacle", "features", "verdict", "message"),
    [
        ("x86-64-v3", "", V3, "fine", "can be built and run here"),
        ("x86-64-v3", "", None, "note", "can be built here; whether it runs is unknown"),
        ("x86-64-v4", "", {"avx2"}, "note", "can be built here, but not run: this processor has no "),
        ("linux-arm64", "", {"avx2"}, "fine", "can be built here and runs "),
        ("cpu", "linker missing", {"avx2"}, "note", "cannot be built here: linker missing"),
    ],
)
def test_check_recipe_verdict(
    name: str, obstacle: str, features: Collection[str] | None, verdict: str, message: str
) -> None:
    cpu = None if features is None else frozenset(features)
    finding = doctor.check_recipe(recipe(name), obstacle, cpu)
    assert (finding.verdict, finding.message[: len(message)]) == (verdict, message)


def test_available_memory_is_read_from_meminfo(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    assert doctor._available_memory(meminfo) is None
    meminfo.write_text("MemTotal:       1000 kB\nMemAvailable:    12345 kB\nHugePages_Total:       0\n")
    assert doctor._available_memory(meminfo) == 12345 * 1024


def test_check_cache_tries_the_cache_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("", "_MODE", "_KEY"):
        monkeypatch.delenv(f"KOKORO_TVM_CACHE{name}", raising=False)
    assert doctor.check_cache().verdict == "fine"
    monkeypatch.setenv("KOKORO_TVM_CACHE", str(tmp_path))
    assert doctor.check_cache() == Finding("cache", "fine", f"{tmp_path}, read-write")
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    monkeypatch.setenv("KOKORO_TVM_CACHE", str(tmp_path / "file" / "cache"))
    finding = doctor.check_cache()
    assert (finding.verdict, "(NotADirectoryError" in finding.message) == ("note", True)
    monkeypatch.setenv("KOKORO_TVM_CACHE", "http://127.0.0.1:9/cache")  # nobody listens there
    finding = doctor.check_cache()
    assert (finding.verdict, "is not encrypted" in finding.message) == ("wrong", True)
    monkeypatch.setenv("KOKORO_TVM_CACHE_KEY", "0123456789abcdef")
    finding = doctor.check_cache()
    assert (finding.verdict, "http://127.0.0.1:9/cache" in finding.message) == ("note", True)
    monkeypatch.setenv("KOKORO_TVM_CACHE_MODE", "sometimes")
    assert "KOKORO_TVM_CACHE_MODE is 'sometimes'" in doctor.check_cache().message


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc, where nothing can be written")
def test_check_disk_reports_a_folder_that_cannot_be_written() -> None:
    artifacts, *_ = doctor.check_disk(Path("/proc/1/artifacts"))
    assert (artifacts.about, artifacts.verdict) == ("artifacts", "wrong")
    assert artifacts.message.startswith("/proc/1/artifacts cannot be written: ")


def test_check_disk_compares_free_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (finding,) = doctor.check_disk(tmp_path / "artifacts")
    assert finding.about == "disk"
    monkeypatch.setattr(doctor, "BUILD_DISK", 1 << 60)
    (finding,) = doctor.check_disk(tmp_path / "artifacts")
    assert finding.verdict == "wrong"
