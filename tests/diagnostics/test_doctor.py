"""What the doctor says of machines that are made up."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from diagnostics.facts import GOOD, made
from kokoro_tvm.cli.doctor import table
from kokoro_tvm.diagnostics import doctor
from kokoro_tvm.diagnostics.doctor import examine
from kokoro_tvm.diagnostics.machine import Facts, Language, Pin, RecipeNeeds
from kokoro_tvm.diagnostics.sources import Reach

GOLDEN = Path(__file__).parent / "golden"
REACHED = ("model kokoro-82m", "fine")


@pytest.fixture(autouse=True)
def _python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_python_here", lambda: Path(".venv/bin/python"))


def shown(facts: Facts, width: int = 80) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(table(examine(facts)))
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


BAD = made(
    python="3.14.1",
    pins=(
        Pin("torch==2.13.0", "2.12.0+cpu"),
        Pin("kokoro==0.9.4", None),
        Pin("onnxruntime==1.31.1", None, "lab"),
        Pin("pytest==9.2.0", "9.2.0", "test"),
        Pin("ruff==0.17.5", None, "test"),
    ),
    compiler="",
    compiler_problem="does not load: ImportError: libtvm_compiler.so: cannot open shared object file",
    linker="",
    linker_problem="no working g++ to link with ([Errno 2] No such file or directory: 'g++')",
    cores=1,
    features=frozenset({"avx2", "fma"}),
    languages=(
        Language("American English", "the front end of the bundle"),
        Language("Spanish", "espeak-ng", ("espeakng-loader",), "run `pip install espeakng-loader`"),
        Language("French", "espeak-ng", ("espeakng-loader",), "run `pip install espeakng-loader`"),
    ),
    recipes=(
        RecipeNeeds("cpu", ("avx2",)),
        RecipeNeeds("cpu-bf16", problem="precision bfloat16 needs the CPU feature avx512bf16"),
        RecipeNeeds("x86-64-v4", ("avx2", "avx512f", "avx512vl")),
    ),
    memory=1_900_000_000,
    artifacts_problem="[Errno 30] Read-only file system",
    disk=120_000_000,
    cache="http://cache.example, read-only",
    cache_problem="the cache http://cache.example cannot be read: it did not answer",
    checkpoints={
        "kokoro-82m": [
            Reach("huggingface hexgrad/Kokoro-82M", "https://huggingface.co does not answer within 5 s"),
            Reach("npm kokoro-js@1.2.1", "npm is not installed"),
        ]
    },
)


@pytest.mark.parametrize(("name", "facts"), [("good", GOOD), ("bad", BAD)])
def test_printed_in_80_columns(name: str, facts: Facts) -> None:
    assert shown(facts) == (GOLDEN / f"doctor-{name}.txt").read_text(encoding="utf-8")


def test_a_good_machine_has_nothing_wrong() -> None:
    assert {f.verdict for f in examine(GOOD)} == {"fine"}
    assert all(f.remedy is None for f in examine(GOOD))


@pytest.mark.parametrize(
    ("other", "about", "verdict"),
    [
        ({"python": "3.10.2"}, "Python", "wrong"),
        ({"pins": (Pin("torch==2.13.0", "2.13.1"),)}, "packages", "wrong"),
        ({"pins": (Pin("torch==2.13.0", "2.13.0+cpu"),)}, "packages", "fine"),
        ({"pins": (Pin("openvino==2026.4.1", None, "lab"),)}, "packages [lab]", "note"),
        ({"compiler_problem": "did not load within 120 s"}, "compiler", "wrong"),
        ({"linker_problem": "g++ 1 could not link probe.so: ld: not found"}, "linker", "wrong"),
        ({"features": None}, "processor", "note"),
        ({"languages": (Language("Hindi", "espeak-ng"),)}, "languages", "fine"),
        ({"languages": (Language("Hindi", "espeak-ng", ("x",), "run it"),)}, "languages", "note"),
        ({"features": None}, "recipe cpu", "note"),
        ({"features": frozenset()}, "recipe cpu", "note"),
        ({"memory": doctor.BUILD_MEMORY - 1}, "memory", "wrong"),
        ({"memory": doctor.BUILD_MEMORY}, "memory", "fine"),
        ({"memory": None}, "memory", "note"),
        ({"artifacts_problem": "[Errno 13] Permission denied"}, "artifacts", "wrong"),
        ({"disk": doctor.BUILD_DISK - 1}, "disk", "wrong"),
        ({"cache": "s3://mine, read-write"}, "cache", "fine"),
        ({"cache": "s3://mine, read-write", "cache_problem": "no answer"}, "cache", "note"),
        ({"cache_problem": "KOKORO_TVM_CACHE_MODE is 'x'"}, "cache", "wrong"),
        ({"checkpoints": {"kokoro-82m": [Reach("file a", "gone"), Reach("npm b", None)]}}, *REACHED),
        ({"checkpoints": {"kokoro-82m": [Reach("file a", "gone")]}}, "model kokoro-82m", "note"),
    ],
)
def test_one_thing_at_a_time(other: dict[str, Any], about: str, verdict: str) -> None:
    findings = examine(made(**other))
    (found,) = [f for f in findings if f.about == about]
    assert found.verdict == verdict
    assert [f.about for f in findings if f.verdict == "wrong"] == ([about] if verdict == "wrong" else [])
    assert found.remedy or verdict != "wrong", "what is wrong comes with what to do"
