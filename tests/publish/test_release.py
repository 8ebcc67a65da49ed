"""Releases: the recipes that passed, and those that are left out."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from checkout import ROOT
from toys import copy_repository

from kokoro_tvm.builder.project import Project
from kokoro_tvm.cli import main
from kokoro_tvm.common.platforms import parse_triple
from kokoro_tvm.publish.distribution import _PLATFORMS
from kokoro_tvm.publish.release import RELEASE, SUMS, write_release
from kokoro_tvm.recipe import load_recipe
from kokoro_tvm.runtime import read_bundle
from kokoro_tvm.runtime.registry.sources import read_index


@pytest.fixture(scope="module")
def project(toy_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(copy_repository(toy_root, tmp_path_factory.mktemp("release") / "repository"))


def test_release_has_the_recipes_that_passed(project: Project, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (project.root / "recipes" / "other.yaml").write_text(
        (project.root / "recipes" / "toy.yaml").read_text(encoding="utf-8").replace("130", "131"),
        encoding="utf-8",
    )
    written = write_release([project.graph(name) for name in ("toy", "other")], out)
    assert written.left_out.keys() == {"other"}
    assert written.left_out["other"].startswith("other.")
    release = json.loads((out / RELEASE).read_text(encoding="utf-8"))
    assert release["left_out"] == written.left_out
    files = release["recipes"]["toy"]["files"]
    assert {name.rpartition(".")[2] for name in files} >= {"tar", "json"}
    assert release["recipes"]["toy"]["key"] == project.graph("toy").bundle.record().key
    for name, described in files.items():
        content = (out / name).read_bytes()
        assert described == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    process = subprocess.run(
        ["sha256sum", "--check", "--strict", SUMS], cwd=out, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    assert {line.partition(":")[0] for line in process.stdout.splitlines()} == {*files, RELEASE}
    statement = json.loads((out / "toy.provenance.json").read_text(encoding="utf-8"))
    (speech,) = [b for b in statement["predicate"]["runDetails"]["byproducts"] if b["name"] == "speech.json"]
    assert speech["digest"] == {"sha256": project.graph("toy").speech.sha256("speech.json")}
    assert speech["annotations"]["passed"]
    assert speech["annotations"]["gates"]
    with tarfile.open(next(out.glob("toy-*.tar"))) as tar:
        provenance = tar.extractfile("toy/provenance.json")
        assert provenance is not None
        assert json.load(provenance) == statement


def test_release_leaves_out_a_recipe_whose_speech_missed_a_gate(project: Project, tmp_path: Path) -> None:
    """The bundle is there, because whole utterances are judged after it."""
    recipe = project.root / "recipes" / "toy.yaml"
    text = recipe.read_text(encoding="utf-8")
    recipe.write_text(text + "gates: {speech: {min_snr_db: 300}}\n", encoding="utf-8")
    try:
        assert read_bundle(project.graph("toy").bundle_folder)
        assert write_release([project.graph("toy")], tmp_path).left_out == {"toy": "toy.speech"}
    finally:
        recipe.write_text(text, encoding="utf-8")


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as error:
        main(["release", *words])
    return int(error.value.code or 0)


def test_command_pushes_bundles_and_writes_the_wheels_of_recipes(
    project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["toy", "masked", "-o", str(tmp_path), "--root", str(project.root)]
    assert run(*words, "--push", str(tmp_path / "layout"), "--wheel", "toy") == 0
    out = capsys.readouterr()
    assert str(tmp_path / "layout#toy") in out.out
    index = (tmp_path / "layout" / "index.json").read_bytes()
    assert read_index(index, "layout").keys() == {"toy"}
    assert str(tmp_path / SUMS) in out.out
    assert "toy: left out" not in out.err
    assert not [*tmp_path.glob("*.tar")]
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name in (tmp_path / SUMS).read_text(encoding="utf-8")
    with zipfile.ZipFile(wheel) as content:
        assert "kokoro_tvm/bundles/toy/bundle.json" in content.namelist()


def test_command_refuses_the_wheel_of_an_unknown_recipe(
    project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["toy", "-o", str(tmp_path / "out"), "--root", str(project.root)]
    assert run(*words, "--wheel", "toi") == 2
    assert "--wheel: no recipe `toi` is released; did you mean `toy`?" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_nightly_writes_wheels_of_nightly_recipes() -> None:
    names = re.findall(r"--wheel (\S+?)\b(?![\w-])", (ROOT / ".ci" / "release").read_text(encoding="utf-8"))
    assert names
    for name in names:
        recipe = load_recipe(name, ROOT / "recipes")
        assert "nightly" in recipe.sets
        triple = recipe.target.model_dump()["mtriple"]
        assert parse_triple(triple or "x86_64-linux-gnu") in _PLATFORMS
