"""State, size and gates of what a recipe builds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from builder.diagnostics.built import build, built_project, edit, make_project, report

from kokoro_tvm.builder.diagnostics.status import StatusRow, collect_status
from kokoro_tvm.builder.engine.state import Failure
from kokoro_tvm.builder.project import Project

MISSED = "short: audio: snr_db 12, min_snr_db 30"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return built_project(tmp_path)


def rows(project: Project) -> dict[str, StatusRow]:
    return {row.name: row for row in collect_status(project.graph("cpu"))}


def test_status_of_a_built_recipe(project: Project) -> None:
    table = rows(project)
    assert list(table) == [
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
    assert {(r.state, r.stages) for r in table.values()} == {("current", ())}
    folder = project.root / "artifacts/.build/cpu/f0n-5120"
    outputs = [folder / name for name in ("f0n-5120.so", "parts.json")]
    assert table["cpu/f0n-5120"].size == sum(path.stat().st_size for path in outputs)
    assert [r.gates for r in table.values()] == ["", "", "", *["passed"] * 8]


def test_status_before_the_first_build(tmp_path: Path) -> None:
    table = rows(make_project(tmp_path))
    assert {(r.state, r.size) for r in table.values()} == {("missing", None)}
    assert table["cpu/decoder-5120"].gates == "not run"


def test_row_has_its_most_severe_state(project: Project) -> None:
    edit(project, "cpu", "float32", "bfloat16")
    packed = project.root / "artifacts/.build/cpu/f0n/f0n.safetensors"
    packed.unlink()
    packed.write_bytes(b"bad")
    table = rows(project)
    assert (table["cpu/f0n-5120"].state, table["cpu/f0n-5120"].stages) == ("damaged", ("cpu.pack.f0n",))
    assert (table["cpu/bert-512"].state, table["cpu/bert-512"].stages) == (
        "stale",
        ("cpu.machine", "cpu.lower.bert-512", "cpu.validate.bert-512"),
    )
    assert table["kokoro-82m.checkpoint"].state == "current"


def test_status_has_a_row_for_every_stage(tmp_path: Path) -> None:
    """Some stages are only of some recipes: libkokoro, the TVM runtime, machine code of GPUs."""
    project = built_project(tmp_path)
    path = tmp_path / "recipes" / "cpu.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "runtime: {c: true}\n", encoding="utf-8")
    build(project)
    assert {row.state for row in rows(project).values()} == {"current"}
    names = [stage.name for stage in project.graph("cpu").stages()]
    assert {"cpu.libkokoro", "cpu.runtime"} <= {*names}
    for name in names:
        path = project.root / "artifacts/.store/stages" / name
        content = path.read_bytes()
        path.unlink()
        assert name in {stage for row in rows(project).values() for stage in row.stages}
        path.write_bytes(content)


def test_row_names_a_missing_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = built_project(tmp_path / "project")
    monkeypatch.setenv("PATH", str(tmp_path))
    row = rows(project)["cpu/f0n-5120"]
    assert (row.state, row.stages) == ("stale", ("cpu.compile.f0n-5120",))
    assert row.problem == "no ld to link with: apt-get install binutils."
    assert rows(project)["cpu.phonemes"].problem == ""


def test_row_has_the_verdict_of_its_gates(project: Project) -> None:
    edit(project, "kokoro-82m", "decoder: {min_snr_db: 60,", "decoder: {min_snr_db: 20,")
    assert rows(project)["cpu/decoder-5120"].gates == "passed, before"
    result = report("decoder", MISSED, "sentence: audio: snr_db 13, min_snr_db 30", enforce=False)
    build(project, contents={"cpu.validate.decoder-5120:validation.json": result})
    assert rows(project)["cpu/decoder-5120"].gates == f"missed {MISSED} and 1 more (reported only)"


def test_status_has_intelligibility_if_the_recipe_has_the_gate(tmp_path: Path) -> None:
    project = built_project(tmp_path)
    gate = "gates: {intelligibility: {max_word_error_increase: 0.02}}\n"
    path = tmp_path / "recipes" / "cpu.yaml"
    path.write_text(path.read_text(encoding="utf-8") + gate, encoding="utf-8")
    assert rows(project)["cpu.intelligibility"].gates == "not run"
    build(project)
    row = rows(project)["cpu.intelligibility"]
    assert (row.state, row.gates) == ("current", "passed")


def test_row_reports_a_damaged_report(project: Project) -> None:
    path = project.root / "artifacts/.build/cpu/bert-512/validation.json"
    path.unlink()
    path.write_text("[]", encoding="utf-8")
    row = rows(project)["cpu/bert-512"]
    assert (row.state, row.gates) == ("damaged", "validation.json is damaged")


def test_row_has_the_gate_that_failed_the_build(project: Project) -> None:
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
