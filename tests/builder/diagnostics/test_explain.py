"""Explanations of stages that are not current."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builder.diagnostics.built import USED, build, built_project, edit, make_project

from kokoro_tvm.builder.diagnostics.explain import explain
from kokoro_tvm.builder.engine import stage as engine_stage
from kokoro_tvm.builder.engine import used
from kokoro_tvm.builder.engine.stage import SCHEMA
from kokoro_tvm.builder.engine.state import Failure
from kokoro_tvm.builder.project import Project
from kokoro_tvm.builder.stages import export

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with the recipe `cpu` built."""
    return built_project(tmp_path)


def result(project: Project, word: str) -> str:
    selection = project.find(word)
    text = "\n".join(explain(word, selection.stages, selection.graph.stages()).lines()) + "\n"
    return text.replace(f"{project.root.resolve()}/", "")


def golden(name: str) -> str:
    return (GOLDEN / f"explain-{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("word", ["cpu", "cpu/decoder-5120", "cpu.compile.f0n-5120", "kokoro-82m.reference"])
def test_explain_of_current_stages(project: Project, word: str) -> None:
    assert result(project, word) == (f"{word} is current, and so is everything it depends on.\n")


def test_explain_before_the_first_build(tmp_path: Path) -> None:
    assert result(make_project(tmp_path), "cpu/decoder-5120") == golden("never-built")


def test_explain_names_a_field_of_the_recipe(project: Project) -> None:
    edit(project, "cpu", "float32", "bfloat16")
    assert result(project, "cpu/decoder-5120") == golden("field")


def test_explain_names_a_gate_of_the_model(project: Project) -> None:
    """The gate is the decoder's, so other artifacts stay current."""
    edit(project, "kokoro-82m", "decoder: {min_snr_db: 60,", "decoder: {min_snr_db: 65,")
    assert result(project, "cpu") == golden("gate")
    assert "is current" in result(project, "cpu/bert-512")


def test_explain_names_a_schedule(project: Project) -> None:
    layers = {"conv1d 8->8 k3 d1 float32 8x16": {"outputs": 4, "taps": 3, "tiles": 8}}
    schedule = {"features": ["avx2", "fma"], "measured_on": "a CPU", "components": {"decoder": layers}}
    path = project.root / "recipes/schedules/a.json"
    path.parent.mkdir()
    path.write_text(json.dumps(schedule), encoding="utf-8")
    assert result(project, "cpu/decoder-5120") == golden("schedule")
    assert "is current" in result(project, "cpu/bert-512")
    path.write_text(json.dumps(schedule | {"features": ["avx2", "fma", "avx512f"]}), encoding="utf-8")
    assert "is current" in result(project, "cpu")


def test_explain_names_sources_and_versions(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A patch is edited, and a package has another version."""
    hash_executed_code, versions = used.hash_executed_code, export.versions

    def edited(*names: Any) -> dict[str, str]:
        code = hash_executed_code(*names)
        return {name: "0123456789ab" if name == USED[0] else digest for name, digest in code.items()}

    monkeypatch.setattr(used, "hash_executed_code", edited)
    monkeypatch.setattr(
        export,
        "versions",
        lambda *names: versions(*names) | {"kokoro": "0.9.5"} if "kokoro" in names else versions(*names),
    )
    text = result(project, "cpu/decoder-5120")
    lines_ = text.splitlines()
    assert lines_[0] == "Changed since the last build:"
    assert any(
        line.startswith("  kokoro_tvm/model/patches/decoder.py, _forward: ")
        and line.endswith(" → 0123456789ab")
        for line in lines_
    )
    assert "  kokoro: 0.9.4 → 0.9.5" in lines_
    assert "  cpu.export.decoder-5120    runs, about 1.5 s" in lines_
    assert "  cpu.lower.decoder-5120     runs if cpu.export.decoder-5120 changes, about 1.5 s" in lines_
    assert "kokoro_tvm/model/patches" not in result(project, "cpu/bert-512")


def test_explain_names_a_changed_input(project: Project) -> None:
    edit(project, "kokoro-82m", "patches: [albert]", "patches: [weight_norm, albert]")
    build(project, only="cpu.export.bert-512", contents={"cpu.export.bert-512:program.pt2": "another"})
    assert result(project, "cpu.compile.bert-512") == golden("input")


def test_explain_lists_damaged_and_missing_outputs(project: Project) -> None:
    weights = project.root / "artifacts/.build/cpu/f0n/f0n.safetensors"
    weights.unlink()
    weights.write_bytes(b"bad")
    (project.root / "artifacts/cpu/hello.wav").unlink()
    assert result(project, "cpu") == golden("damaged")


def test_explain_names_a_missing_tool(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert result(project, "cpu/bert-512") == golden("tool")


def test_explain_shows_a_failure_and_unknown_states(project: Project) -> None:
    edit(project, "kokoro-82m", "decoder: {min_snr_db: 60,", "decoder: {min_snr_db: 65,")
    stage = project.find("cpu/decoder-5120").stages[0]
    message = "cpu.validate.decoder-5120: decoder-5120 was built but did not pass: short: audio: snr_db 12."
    Failure(stage.failure_key(), "ValidationError", message).write(stage.failure_path)
    store = project.root / "artifacts/.store"
    export = project.find("cpu.export.decoder-5120").stages[0].record().key
    (store / "records" / export[:2] / f"{export}.json").unlink()
    assert result(project, "cpu/decoder-5120") == golden("failed")


def test_explain_to_json(project: Project) -> None:
    edit(project, "cpu", "float32", "bfloat16")
    selection = project.find("cpu.machine")
    result = explain("cpu.machine", selection.stages, selection.graph.stages()).to_json()
    assert result["subject"] == "cpu.machine"
    assert result["reasons"] == [
        {
            "stage": "cpu.machine",
            "state": "stale",
            "causes": [{"kind": "field", "what": "precision", "before": "float32", "now": "bfloat16"}],
            "damage": [],
            "waiting": [],
            "problem": "",
            "failure": None,
        }
    ]
    assert result["following"][0] == {
        "stage": "cpu.machine",
        "state": "stale",
        "action": "run",
        "seconds": 1.5,
        "because": [],
    }


def test_explain_compares_with_the_source_that_was_used(project: Project) -> None:
    """A checkpoint from the second of its sources, and two voices that are swapped."""
    stage = project.find("kokoro-82m.checkpoint").stages[0]
    derivation = stage.requests()[-1]
    assert derivation["yields"]["format"] != stage.requests()[0]["yields"]["format"]
    with project.store.workspace("0" * 64) as out:
        for output in stage.outputs:
            (out / output).write_text(f"checkpoint {output}", encoding="utf-8")
        record = project.store.publish(stage.name, derivation, out, stage.outputs, 1.0, 1.0)
    assert project.store.restore(record, stage.folder, stage.name)
    edit(project, "kokoro-82m", "af_alloy, af_aoede", "af_aoede, af_alloy")
    assert [str(c) for c in explain_one(project, stage.name)] == [
        "checkpoint.voices.names[0]: af_alloy → af_aoede",
        "checkpoint.voices.names[1]: af_aoede → af_alloy",
    ]


def explain_one(project: Project, name: str) -> tuple[Any, ...]:
    selection = project.find(name)
    return explain(name, selection.stages, selection.graph.stages()).reasons[0][1]


def test_explain_lists_edits_before_consequences(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    hash_executed_code = used.hash_executed_code

    def edited(*names: Any) -> dict[str, str]:
        code = hash_executed_code(*names)
        more = {f"kokoro_tvm.another.n{i}": "1" * 32 for i in range(20)} if USED[0] in code else {}
        return {name: "0" * 32 if name == USED[0] else digest for name, digest in code.items()} | more

    monkeypatch.setattr(used, "hash_executed_code", edited)
    first, change, stale, *rest = result(project, "cpu/decoder-5120").splitlines()
    assert first == "Changed since the last build:"
    assert change.startswith("  kokoro_tvm/model/patches/decoder.py, _forward: ")
    assert change.endswith(" → 000000000000")
    assert stale == "    makes stale: cpu.export.decoder-5120"
    assert sum("another" in line for line in rest) == 7
    assert "  and 13 more: `kokoro-tvm explain --json` has all" in rest


def test_explain_names_the_schema_alone_after_an_update(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_stage, "SCHEMA", 99)
    causes = explain_one(project, "cpu.export.decoder-5120")
    assert [str(cause) for cause in causes] == [f"the schema of keys: {SCHEMA} → 99"]
