"""What the doctor says of machines that are made up."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from kokoro_tvm.builder.diagnostics import doctor
from kokoro_tvm.builder.diagnostics.doctor import (
    Finding,
    Pin,
    Tool,
    judge_cache,
    judge_checkpoint,
    judge_compiler,
    judge_disk,
    judge_languages,
    judge_linker,
    judge_memory,
    judge_packages,
    judge_processor,
    judge_python,
    judge_recipe,
    judge_tool,
)
from kokoro_tvm.builder.diagnostics.sources import Reach
from kokoro_tvm.cli.develop.doctor import table
from kokoro_tvm.runtime.text.frontend.packages import LanguagePackages

GOLDEN = Path(__file__).parent / "golden"
FRONT_END = LanguagePackages("the front end of the bundle", "", {})
THERE, ABSENT = (
    LanguagePackages("espeak-ng", "espeak", {"espeakng-loader": module})
    for module in ("json", "no_such_module")
)
ARTIFACTS = Path("artifacts")
FEATURES = frozenset({"avx2", "fma", "avx512f", "popcnt"})


@pytest.fixture(autouse=True)
def _python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_python_here", lambda: Path(".venv/bin/python"))


def good() -> list[Finding]:
    pins = (
        Pin("torch==2.13.0", "2.13.0"),
        Pin("misaki[en]==0.9.4", "0.9.4"),
        Pin("onnxruntime==1.31.1", "1.31.1", "lab"),
    )
    return [
        judge_python("3.11.7", ">=3.11,<3.14"),
        *judge_packages(pins),
        judge_compiler("TVM 0.27.0 with LLVM 22", None),
        judge_linker("g++ (Debian) 12.2.0", None),
        judge_processor("A processor (family 26, model 2)", 2, FEATURES),
        *judge_languages({"American English": FRONT_END, "Spanish": THERE, "French": THERE}),
        judge_recipe("cpu", ("avx2", "fma"), features=FEATURES),
        judge_memory(15_500_000_000),
        *judge_disk(ARTIFACTS, 65_000_000_000, None),
        judge_cache("", None),
        judge_checkpoint("kokoro-82m", None),
    ]


def bad() -> list[Finding]:
    pins = (
        Pin("torch==2.13.0", "2.12.0+cpu"),
        Pin("kokoro==0.9.4", None),
        Pin("onnxruntime==1.31.1", None, "lab"),
        Pin("pytest==9.2.0", "9.2.0", "test"),
        Pin("ruff==0.17.5", None, "test"),
    )
    sources = [
        Reach("huggingface hexgrad/Kokoro-82M", "https://huggingface.co does not answer within 5 s"),
        Reach("npm kokoro-js@1.2.1", "npm is not installed"),
    ]
    cache = "http://cache.example"
    return [
        judge_python("3.14.1", ">=3.11,<3.14"),
        *judge_packages(pins),
        judge_compiler("", "does not load: ImportError: libtvm_compiler.so: cannot open shared object file"),
        judge_linker("", "no working g++ to link with ([Errno 2] No such file or directory: 'g++')"),
        judge_processor("A processor (family 26, model 2)", 1, frozenset({"avx2", "fma"})),
        *judge_languages({"American English": FRONT_END, "Spanish": ABSENT, "French": ABSENT}),
        judge_recipe("cpu", ("avx2",), ["linker"]),
        judge_recipe("cpu-bf16", "precision bfloat16 needs the CPU feature avx512bf16", ["linker"]),
        judge_recipe("x86-64-v4", ("avx2", "avx512f", "avx512vl"), ["linker"]),
        judge_memory(1_900_000_000),
        *judge_disk(ARTIFACTS, 120_000_000, "[Errno 30] Read-only file system"),
        judge_cache(f"{cache}, read-only", f"the cache {cache} cannot be read: it did not answer"),
        judge_checkpoint("kokoro-82m", sources),
    ]


@pytest.mark.parametrize("name", ["good", "bad"])
def test_printed_in_80_columns(name: str) -> None:
    out = io.StringIO()
    Console(file=out, width=80).print(table({"good": good, "bad": bad}[name]()))
    shown = "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())
    assert shown == (GOLDEN / f"doctor-{name}.txt").read_text(encoding="utf-8")


def test_a_good_machine_has_nothing_wrong() -> None:
    assert {f.verdict for f in good()} == {"fine"}
    assert all(f.remedy is None for f in good())


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (judge_python("3.10.2", ">=3.11,<3.14"), "wrong"),
        (*judge_packages((Pin("torch==2.13.0", "2.13.1"),)), "wrong"),
        (*judge_packages((Pin("torch==2.13.0", "2.13.0+cpu"),)), "fine"),
        (*judge_packages((Pin("openvino==2026.4.1", None, "lab"),)), "note"),
        (judge_compiler("", "did not load within 120 s"), "wrong"),
        (judge_linker("", "g++ cannot make a shared library: ld: not found"), "wrong"),
        (judge_tool(Tool("runner", ("wasm",), "Node 20")), "fine"),
        (judge_tool(Tool("runner", ("wasm",), problem="There is no Node.")), "note"),
        (judge_processor("A", 2, None), "note"),
        (*judge_languages({"Hindi": THERE}), "fine"),
        (*judge_languages({"Hindi": ABSENT}), "note"),
        (judge_recipe("cpu", ("avx2",)), "note"),
        (judge_recipe("cpu", ("avx2",), features=frozenset()), "note"),
        (judge_recipe("arm", ("sve",), elsewhere="runs in QEMU", features=FEATURES), "fine"),
        (judge_memory(doctor.BUILD_MEMORY - 1), "wrong"),
        (judge_memory(doctor.BUILD_MEMORY), "fine"),
        (judge_memory(None), "note"),
        (next(judge_disk(ARTIFACTS, doctor.BUILD_DISK, "[Errno 13] Permission denied")), "wrong"),
        (*judge_disk(ARTIFACTS, doctor.BUILD_DISK - 1, None), "wrong"),
        (judge_cache("s3://mine, read-write", None), "fine"),
        (judge_cache("s3://mine, read-write", "no answer"), "note"),
        (judge_cache("", "KOKORO_TVM_CACHE_MODE is 'x'"), "wrong"),
        (judge_checkpoint("kokoro-82m", [Reach("file a", "gone"), Reach("npm b", None)]), "fine"),
        (judge_checkpoint("kokoro-82m", [Reach("file a", "gone")]), "note"),
    ],
)
def test_one_thing_at_a_time(found: Finding, verdict: str) -> None:
    assert found.verdict == verdict
    assert found.remedy or verdict != "wrong", "what is wrong comes with what to do"
