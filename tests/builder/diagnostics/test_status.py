"""How everything a recipe builds stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from builder.diagnostics.built import build, built_project, edit, make_project, report

from kokoro_tvm.builder.diagnostics.status import StatusRow, status
from kokoro_tvm.builder.engine.state import Failure
from kokoro_tvm.builder.project import Project

MISSED = "short: audio: snr_db 12, min_snr_db 30"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return built_project(tmp_path)


def rows(project: Project) -> dict[str, StatusRow]:
    return {row.name: row for row in status(project.graph("cpu"))}


def test_all_is_current(project: Project) -> None:
    found = rows(project)
    assert list(found) == [
        "kokoro-82m.checkpoint",
        "kokoro-82m.reference",
        "kokoro-82m.front_end",
        "cpu/bert-512",
        "cpu/duration-512",
        "cpu/text_encoder-512",
        "cpu/f0n-5120",
        "cpu/decoder-5120",
        "cpu.phonemes",
        "cpu.throughput",
        "cpu",
    ]
    assert {(r.state, r.stages) for r in found.values()} == {("current", ())}
    folder = project.root / "artifacts/.build/cpu/f0n-5120"
    outputs = [folder / name for name in ("f0n-5120.so", "parts.json")]
    assert found["cpu/f0n-5120"].size == sum(path.stat().st_size for path in outputs)
    assert [r.gates for r in found.values()] == ["", "", "", *["passed"] * 8]


def test_nothing_was_built(tmp_path: Path) -> None:
    found = rows(make_project(tmp_path))
    assert {(r.state, r.size) for r in found.values()} == {("missing", None)}
    assert found["cpu/decoder-5120"].gates == "not run"


def test_a_state_is_that_of_the_gravest_stage(project: Project) -> None:
    edit(project, "cpu", "float32", "bfloat16")
    packed = project.root / "artifacts/.build/cpu/f0n/f0n.safetensors"
    packed.unlink()
    packed.write_bytes(b"bad")
    found = rows(project)
    assert (found["cpu/f0n-5120"].state, found["cpu/f0n-5120"].stages) == ("damaged", ("cpu.pack.f0n",))
    assert (found["cpu/bert-512"].state, found["cpu/bert-512"].stages) == (
        "stale",
        ("cpu.machine", "cpu.lower.bert-512", "cpu.validate.bert-512"),
    )
    assert found["kokoro-82m.checkpoint"].state == "current"


def test_every_stage_is_in_a_row(tmp_path: Path) -> None:
    """Also those that only some recipes have: libkokoro, the TVM runtime, and of GPUs machine code."""
    project = built_project(tmp_path)
    path = tmp_path / "recipes" / "cpu.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "runtime: {c: true}\n", encoding="utf-8")
    build(project)
    assert {row.state for row in rows(project).values()} == {"current"}
    names = [stage.name for stage in project.graph("cpu").stages()]
    assert {"cpu.libkokoro", "cpu.runtime"} <= {*names}
    for name in names:
        kept = project.root / "artifacts/.store/stages" / name
        content = kept.read_bytes()
        kept.unlink()
        assert name in {stage for row in rows(project).values() for stage in row.stages}
        kept.write_bytes(content)


def test_a_missing_tool_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = built_project(tmp_path / "project")
    monkeypatch.setenv("PATH", str(tmp_path))
    row = rows(project)["cpu/f0n-5120"]
    assert (row.state, row.stages) == ("stale", ("cpu.compile.f0n-5120",))
    assert row.problem.startswith("no working ld to link with (")
    assert row.problem.endswith("): install it (Debian: apt-get install binutils).")
    assert rows(project)["cpu.phonemes"].problem == ""


def test_gates(project: Project) -> None:
    edit(project, "kokoro-82m", "decoder: {min_snr_db: 60,", "decoder: {min_snr_db: 20,")
    assert rows(project)["cpu/decoder-5120"].gates == "passed, before"
    result = report("decoder", MISSED, "sentence: audio: snr_db 13, min_snr_db 30", enforce=False)
    build(project, contents={"cpu.validate.decoder-5120:validation.json": result})
    assert rows(project)["cpu/decoder-5120"].gates == f"missed {MISSED} and 1 more (reported only)"


def test_what_a_speech_recogniser_is_asked_stands_where_there_is_a_gate_for_it(tmp_path: Path) -> None:
    project = built_project(tmp_path)
    gate = "gates: {intelligibility: {max_word_error_increase: 0.02}}\n"
    path = tmp_path / "recipes" / "cpu.yaml"
    path.write_text(path.read_text(encoding="utf-8") + gate, encoding="utf-8")
    assert rows(project)["cpu.intelligibility"].gates == "not run"
    build(project)
    row = rows(project)["cpu.intelligibility"]
    assert (row.state, row.gates) == ("current", "passed")


def test_a_report_that_is_none(project: Project) -> None:
    path = project.root / "artifacts/.build/cpu/bert-512/validation.json"
    path.unlink()
    path.write_text("[]", encoding="utf-8")
    row = rows(project)["cpu/bert-512"]
    assert (row.state, row.gates) == ("damaged", "validation.json is damaged")


def test_a_gate_that_stopped_the_build(project: Project) -> None:
    edit(project, "kokoro-82m", "decoder: {min_snr_db: 60,", "decoder: {min_snr_db: 65,")
    stage = project.find("cpu/decoder-5120").stages[0]
    Failure(stage.failure_key(), "ValidationError", "It missed.").write(stage.failure_path)
    stage.failed_path.mkdir()
    result = json.dumps(report("decoder", MISSED))
    (stage.failed_path / "validation.json").write_text(result, encoding="utf-8")
    row = rows(project)["cpu/decoder-5120"]
    assert (row.state, row.stages) == ("failed", (stage.name,))
    assert row.gates == f"missed {MISSED}"
    edit(project, "kokoro-82m", "decoder: {min_snr_db: 65,", "decoder: {min_snr_db: 70,")
    assert rows(project)["cpu/decoder-5120"].state == "stale"
