"""Names of the changed parts of a derivation."""

from __future__ import annotations

import json

import pytest
from builder.diagnostics.built import built_project

from kokoro_tvm.builder.diagnostics.causes import Cause, find_cause
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.state import Change
from kokoro_tvm.builder.project import Project

A, B = "a" * 64, "b" * 64


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return built_project(tmp_path_factory.mktemp("built"))


def stage(project: Project, name: str) -> Stage:
    return project.find(name).stages[0]


def cause_of(project: Project, name: str, part: str, old: object, new: object) -> Cause:
    values = [None if value is None else json.dumps(value, ensure_ascii=False) for value in (old, new)]
    return find_cause(stage(project, name), Change(part, *values))


LOWER, EXPORT = "cpu.lower.text_encoder-512", "cpu.export.text_encoder-512"


@pytest.mark.parametrize(
    ("name", "part", "kind", "what"),
    [
        (
            LOWER,
            "code.kokoro_tvm.kernels.lstm:_build_cpu_kernel",
            "source",
            "kokoro_tvm/kernels/lstm.py, _build_cpu_kernel",
        ),
        (LOWER, "code.kokoro_tvm.kernels.lstm", "source", "kokoro_tvm/kernels/lstm.py, outside of functions"),
        (LOWER, "code.kokoro_tvm.kernels:gelu", "source", "kokoro_tvm/kernels/__init__.py, gelu"),
        (LOWER, "schema", "version", "the schema of keys"),
        (LOWER, "files.targets/wheels.json", "source", "kokoro_tvm/targets/wheels.json"),
        (
            "kokoro-82m.checkpoint",
            "conversion.code.kokoro_tvm.model.state:complete_state",
            "source",
            "kokoro_tvm/model/state.py, complete_state",
        ),
        (LOWER, "versions.apache-tvm", "version", "apache-tvm"),
        ("cpu.bundle", "project", "version", "kokoro-tvm"),
        ("cpu.compile.f0n-5120", "linker", "version", "linker"),
        ("cpu.speak", "runner", "version", "runner"),
        ("cpu.machine", "cpu.model", "machine", "this machine's CPU, model"),
        ("cpu.machine", "parameters.target.mcpu", "field", "target.mcpu"),
        ("cpu.machine", "parameters.precision", "field", "precision"),
        (EXPORT, "parameters.patches.1", "field", "components.text_encoder.patches[1]"),
        (EXPORT, "parameters.length", "field", "length"),
        (LOWER, "parameters.passes.2", "field", "passes[2]"),
        (LOWER, "parameters.pass_context.opt_level", "field", "pass_context.opt_level"),
        (LOWER, "schedule.conv1d 8->8 k3", "field", "schedules/: text_encoder, conv1d 8->8 k3"),
        ("cpu.validate.f0n-5120", "gates.f0n.min_snr_db", "field", "gates.f0n.min_snr_db"),
        ("kokoro-82m.reference", "parameters.utterances.0.text", "field", "utterances[0].text"),
        ("kokoro-82m.checkpoint", "yields.voices.names.1", "field", "checkpoint.voices.names[1]"),
        ("cpu.bundle", "parameters.recipe.passes.0", "field", "passes[0]"),
        (LOWER, "inputs.gone", "build", "inputs.gone"),
    ],
)
def test_find_cause_names_the_part(project: Project, name: str, part: str, kind: str, what: str) -> None:
    cause = cause_of(project, name, part, "old", "new")
    assert (cause.kind, cause.what, cause.before, cause.now) == (kind, what, "old", "new")


@pytest.mark.parametrize(
    ("name", "part", "before", "file"),
    [
        (LOWER, "inputs.program", EXPORT, "program.pt2"),
        ("cpu.validate.f0n-5120", "inputs.weights/f0n", "cpu.pack.f0n", "f0n.safetensors"),
        ("cpu.bundle", "inputs.checkpoint/config.json", "kokoro-82m.checkpoint", "config.json"),
        (
            "kokoro-82m.reference",
            "inputs.checkpoint/voices.safetensors",
            "kokoro-82m.checkpoint",
            "voices.safetensors",
        ),
    ],
)
def test_find_cause_names_the_stage_of_an_input(
    project: Project, name: str, part: str, before: str, file: str
) -> None:
    now = stage(project, before).sha256(file)
    assert cause_of(project, name, part, A, now) == Cause("input", f"{file} of {before}", A[:12], now[:12])


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("0.27", "0.28", "x: 0.27 → 0.28"),
        (30.0, None, "x: gone, 30.0"),
        (None, [], "x: new, []"),
        (True, False, "x: true → false"),
        (A, B, "x: aaaaaaaaaaaa → bbbbbbbbbbbb"),
        ("", "ɹ", 'x: "" → ɹ'),
    ],
)
def test_cause_shows_both_values(project: Project, old: object, new: object, shown: str) -> None:
    assert str(cause_of(project, "cpu.machine", "versions.x", old, new)) == shown


def test_find_cause_shows_the_cpu_flags_that_differ(project: Project) -> None:
    cause = cause_of(project, "cpu.machine", "cpu.flags", "fma avx2 sse2", "sse2 avx512f avx2 gfni")
    assert (cause.before, cause.now) == ("-fma", "+avx512f gfni")
