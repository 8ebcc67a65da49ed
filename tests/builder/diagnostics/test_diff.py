"""Differences between recipes and bundles."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from builder.diagnostics.built import build, built_project

from kokoro_tvm.builder.diagnostics.diff import Side, ValueDifference, diff
from kokoro_tvm.builder.project import Project
from kokoro_tvm.builder.stages.provenance import parameters, statement
from kokoro_tvm.cli import main
from kokoro_tvm.common.errors import BundleError

MINE = "extends: cpu\nbuckets: {frames: [512]}\ngates: {decoder: {min_gain_db: 3}}\n"


def provenance(project: Project, recipe: str, **files: str) -> dict[str, Any]:
    return statement(
        files=files,
        recipe=parameters(project.graph(recipe).recipe),
        checkpoint={},
        weights="0" * 64,
        front_end={},
        reports={},
        toolchain={"python": "3.11.7", "apache-tvm": "0.27.0" if recipe == "cpu" else "0.28.0"},
        compiler={"llvm": "22"},
    )


def verdicts(value: float) -> dict[str, Any]:
    verdict = {"gate": "min_snr_db", "output": "audio", "value": value, "limit": 60.0, "status": "passed"}
    return {
        "passed": True,
        "enforce": True,
        "missed": [],
        "overall": [],
        "utterances": [{"verdicts": [verdict]}],
    }


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The recipes `cpu` and `mine`, built."""
    project = built_project(tmp_path, mine=MINE)
    monkeypatch.chdir(tmp_path)
    build(project, "mine")
    _write_bundle(project, "cpu", 10)
    _write_bundle(project, "mine", 12)
    return project


def _write_bundle(project: Project, name: str, size: int) -> None:
    """Write the files of a bundle and its reports that `diff` reads."""
    folder = project.root / "artifacts" / name
    origin = provenance(project, name, **{"voices.safetensors": "1" * 64, "bundle.json": str(size) * 32})
    _replace(folder / "provenance.json", json.dumps(origin))
    _replace(folder / "bundle.json", "{}")
    _replace(folder / "voices.safetensors", "x" * size)
    report = folder.parent / ".build" / name / "speech" / "speech.json"
    _replace(report, json.dumps(verdicts(size * 10)))


def _replace(path: Path, text: str) -> None:
    """Replace a file. It is an object of the store, so it is not written in place."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_diff_of_two_recipes(project: Project) -> None:
    sections = diff(*(Side.of_recipe(project.graph(name)) for name in ("cpu", "mine")))
    assert sections["recipe"] == [
        ValueDifference("buckets.frames.0", "5120", "512"),
        ValueDifference("gates.decoder.min_gain_db", "20.0", "3.0"),
        ValueDifference("sets.0", "ci", "nightly"),
        ValueDifference("sets.1", "nightly", ""),
    ]
    stages = {row.what: (row.before, row.now) for row in sections["stages"]}
    assert stages["compile.decoder-5120"] == ("a stage", "")
    assert stages["compile.decoder-512"] == ("", "a stage")
    assert sections["toolchain"] == [ValueDifference("apache-tvm", "0.27.0", "0.28.0")]
    assert sections["files"] == [
        ValueDifference("voices.safetensors", f"10 bytes, {'1' * 12}", f"12 bytes, {'1' * 12}")
    ]
    gate = ValueDifference("speech.audio min_snr_db", "100 dB (≥ 60 dB)", "120 dB (≥ 60 dB)")
    assert gate in sections["measured"]


def test_diff_names_the_causes_of_different_keys(project: Project) -> None:
    (project.root / "recipes" / "mine.yaml").write_text(
        "extends: cpu\npasses: [legalize]\n", encoding="utf-8"
    )
    build(project, "mine")
    _write_bundle(project, "mine", 10)
    sections = diff(*(Side.of_recipe(project.graph(name)) for name in ("cpu", "mine")))
    assert any(row.what.startswith("lower.bert-512: passes") for row in sections["stages"]), sections[
        "stages"
    ]
    assert not any(row.what.startswith("export.") for row in sections["stages"])


def test_diff_of_a_bundle_and_an_earlier_one(project: Project) -> None:
    artifacts = project.root / "artifacts"
    earlier = project.root / "last-night"
    shutil.copytree(artifacts / "cpu", earlier / "cpu")
    shutil.copytree(artifacts / ".build" / "cpu", earlier / ".build" / "cpu")
    same = diff(Side.of_bundle(earlier / "cpu"), Side.of_bundle(artifacts / "cpu"))
    assert not any(same.values())
    _replace(artifacts / ".build" / "cpu" / "speech" / "speech.json", json.dumps(verdicts(61)))
    sections = diff(Side.of_bundle(earlier / "cpu"), Side.of_bundle(artifacts / "cpu"))
    assert sections.pop("measured") == [
        ValueDifference("speech.audio min_snr_db", "100 dB (≥ 60 dB)", "61 dB (≥ 60 dB)")
    ]
    assert not any(sections.values())


def test_diff_of_a_recipe_and_a_bundle(project: Project) -> None:
    sections = diff(Side.of_recipe(project.graph("mine")), Side.of_bundle(project.root / "artifacts" / "cpu"))
    assert sections["recipe"] == [ValueDifference("buckets.frames.0", "512", "5120")]
    assert sections["stages"] == []


def test_side_refuses_a_folder_without_a_bundle(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"provenance.json cannot be read: .*Name a recipe"):
        Side.of_bundle(tmp_path)


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as error:
        main(("diff", *words))
    return int(error.value.code or 0)


def test_command_prints_text_or_json(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("cpu", "artifacts/mine") == 0
    out = "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())
    assert out.startswith("cpu → artifacts/mine\n  recipe     1 differ\n  stages     the same\n")
    assert "\nrecipe:\n  buckets.frames.0  5120 → 512\n" in out
    assert "\nfiles:\n" not in out
    assert run("cpu", "artifacts/mine", "--all") == 0
    assert "\nfiles:\n" in capsys.readouterr().out
    assert run("cpu", "artifacts/mine", "--json") == 0
    sections = json.loads(capsys.readouterr().out)
    assert sections["recipe"] == [{"what": "buckets.frames.0", "before": "5120", "now": "512"}]
    assert run("cpu", "cpu") == 0
    assert capsys.readouterr().out == "cpu and cpu do not differ in anything that is known of both.\n"


def test_command_refuses_an_unknown_recipe(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("cpu", "mien") == 2
    assert "no recipe `mien`; did you mean `mine`?" in capsys.readouterr().err


def test_command_compares_audio(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One bundle speaks a twentieth longer, and louder by a hundredth."""
    audio = {"cpu": np.full(24_000, 0.5, np.float32), "mine": np.full(25_200, 0.505, np.float32)}

    class FakeSynthesizer:
        def __init__(self, bundle: Path) -> None:
            self.audio = audio[Path(bundle).name]

        def from_phonemes(self, phonemes: list[str]) -> SimpleNamespace:
            return SimpleNamespace(audio=self.audio, sample_rate=24_000)

    monkeypatch.setattr("kokoro_tvm.runtime.Synthesizer", FakeSynthesizer)
    assert run("artifacts/cpu", "artifacts/mine", "--audio") == 0
    assert "audio:\n  1.000 s → 1.050 s, SNR 40.0 dB\n" in capsys.readouterr().out
    assert run("cpu", "mine", "--audio", "--json") == 0
    heard = json.loads(capsys.readouterr().out)["audio"]
    assert heard == {"seconds_before": 1.0, "seconds_now": 1.05, "snr_db": pytest.approx(40.0, abs=0.01)}
    shutil.rmtree(project.root / "artifacts" / "mine")
    assert run("cpu", "mine", "--audio") == 2
    assert "--audio: mine is not built; build it first" in capsys.readouterr().err
