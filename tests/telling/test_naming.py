"""Ingredients in the words of whoever changes them."""

from __future__ import annotations

import json

import pytest

from kokoro_tvm.build.project import Project
from kokoro_tvm.build.stage import Stage
from kokoro_tvm.build.state import Change
from kokoro_tvm.telling.naming import Cause, cause
from telling.built import built_project

A, B = "a" * 64, "b" * 64


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return built_project(tmp_path_factory.mktemp("built"))


def stage(project: Project, name: str) -> Stage:
    return project.find(name).stages[0]


def told(project: Project, name: str, ingredient: str, old: object, new: object) -> Cause:
    values = [None if value is None else json.dumps(value, ensure_ascii=False) for value in (old, new)]
    return cause(stage(project, name), Change(ingredient, *values))


LOWER, EXPORT = "cpu.lower.text_encoder-512", "cpu.export.text_encoder-512"


@pytest.mark.parametrize(
    ("name", "ingredient", "kind", "what"),
    [
        (LOWER, "code", "source", "kokoro_tvm/build/stages.py, lower"),
        (LOWER, "sources.kokoro_tvm.ops.lstm", "source", "kokoro_tvm/ops/lstm.py"),
        (LOWER, "versions.apache-tvm", "version", "apache-tvm"),
        ("cpu.bundle", "project", "version", "kokoro-tvm"),
        (LOWER, "lowering.manifest.project", "version", "kokoro-tvm"),
        ("cpu.compile.f0n-5120", "linker", "version", "linker"),
        ("cpu.machine", "cpu.model", "machine", "this machine's CPU, model"),
        ("cpu.machine", "target.mcpu", "field", "target.mcpu"),
        ("cpu.machine", "precision", "field", "precision"),
        (EXPORT, "artifact.patches.1", "field", "components.text_encoder.patches[1]"),
        (EXPORT, "artifact.length", "field", "length"),
        (LOWER, "lowering.passes.2", "field", "passes[2]"),
        (LOWER, "lowering.pass_context.opt_level", "field", "pass_context.opt_level"),
        (LOWER, "lowering.manifest.precision", "field", "precision"),
        (LOWER, "lowering.schedule.conv1d.tiles", "field", "schedules/cpu.json: text_encoder.conv1d.tiles"),
        ("cpu.validate.f0n-5120", "gates.f0n.min_snr_db", "field", "gates.f0n.min_snr_db"),
        ("kokoro-82m.reference", "utterances.0.text", "field", "utterances[0].text"),
        ("kokoro-82m.checkpoint", "checkpoint.sources.1.kind", "field", "checkpoint.sources[1].kind"),
        ("cpu.bundle", "provenance.recipe.gates.f0n.min_snr_db", "field", "gates.f0n.min_snr_db"),
        ("cpu.speak", "said.phonemes", "build", "said.phonemes"),
        (LOWER, "schema", "build", "schema"),
    ],
)
def test_words(project: Project, name: str, ingredient: str, kind: str, what: str) -> None:
    found = told(project, name, ingredient, "old", "new")
    assert (found.kind, found.what, found.before, found.now) == (kind, what, "old", "new")


@pytest.mark.parametrize(
    ("name", "ingredient", "before", "file"),
    [
        (LOWER, "program", EXPORT, "program.pt2"),
        ("cpu.validate.f0n-5120", "weights", "cpu.pack.f0n", "f0n.safetensors"),
        ("cpu.bundle", "checkpoint.config.json", "kokoro-82m.checkpoint", "config.json"),
        (
            "kokoro-82m.reference",
            "checkpoint.voices.safetensors",
            "kokoro-82m.checkpoint",
            "voices.safetensors",
        ),
    ],
)
def test_an_input_is_an_output_of_another_stage(
    project: Project, name: str, ingredient: str, before: str, file: str
) -> None:
    now = stage(project, before).sha256(file)
    assert told(project, name, ingredient, A, now) == Cause("input", f"{file} of {before}", A[:12], now[:12])


@pytest.mark.parametrize(
    ("old", "new", "told_"),
    [
        ("0.27", "0.28", "x: 0.27 → 0.28"),
        (30.0, None, "x: gone, 30.0"),
        (None, [], "x: new, []"),
        (True, False, "x: true → false"),
        (A, B, "x: aaaaaaaaaaaa → bbbbbbbbbbbb"),
        ("", "ɹ", 'x: "" → ɹ'),
    ],
)
def test_values(project: Project, old: object, new: object, told_: str) -> None:
    assert str(told(project, "cpu.machine", "versions.x", old, new)) == told_


def test_of_many_flags_those_that_differ(project: Project) -> None:
    found = told(project, "cpu.machine", "cpu.flags", "fma avx2 sse2", "sse2 avx512f avx2 gfni")
    assert (found.before, found.now) == ("-fma", "+avx512f gfni")
