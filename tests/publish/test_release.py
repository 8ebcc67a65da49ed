"""A release has what passed, and says what did not."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tarfile
from pathlib import Path

import pytest
from toys import copy_repository

from kokoro_tvm.builder.project import Project
from kokoro_tvm.cli import main
from kokoro_tvm.publish.release import RELEASE, SUMS, write_release
from kokoro_tvm.runtime import read_bundle
from kokoro_tvm.runtime.registry.sources import read_index


@pytest.fixture(scope="module")
def project(toy_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(copy_repository(toy_root, tmp_path_factory.mktemp("release") / "repository"))


def test_a_recipe_that_passed_is_in_it_although_another_is_not_built(
    project: Project, tmp_path: Path
) -> None:
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
    done = subprocess.run(["sha256sum", "--check", "--strict", SUMS], cwd=out, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {line.partition(":")[0] for line in done.stdout.splitlines()} == {*files, RELEASE}
    stated = json.loads((out / "toy.provenance.json").read_text(encoding="utf-8"))
    (speech,) = [b for b in stated["predicate"]["runDetails"]["byproducts"] if b["name"] == "speech.json"]
    assert speech["digest"] == {"sha256": project.graph("toy").speech.sha256("speech.json")}
    assert speech["annotations"]["passed"]
    assert speech["annotations"]["gates"]
    with tarfile.open(next(out.glob("toy-*.tar"))) as tar:
        held = tar.extractfile("toy/provenance.json")
        assert held is not None
        assert json.load(held) == stated


def test_a_recipe_whose_speech_missed_a_gate_is_not(project: Project, tmp_path: Path) -> None:
    """Its bundle is there: whole utterances are judged after it."""
    recipe = project.root / "recipes" / "toy.yaml"
    text = recipe.read_text(encoding="utf-8")
    recipe.write_text(text + "gates: {speech: {min_snr_db: 300}}\n", encoding="utf-8")
    try:
        assert read_bundle(project.graph("toy").bundle_folder)
        assert write_release([project.graph("toy")], tmp_path).left_out == {"toy": "toy.speech"}
    finally:
        recipe.write_text(text, encoding="utf-8")


def test_the_command_prints_what_it_wrote_and_left_out(
    project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        words = ["release", "toy", "masked", "-o", str(tmp_path), "--root", str(project.root)]
        main([*words, "--push", str(tmp_path / "layout")])
    assert not ended.value.code
    out = capsys.readouterr()
    assert str(tmp_path / "layout#toy") in out.out
    index = (tmp_path / "layout" / "index.json").read_bytes()
    assert read_index(index, "layout").keys() == {"toy"}
    assert str(tmp_path / SUMS) in out.out
    assert not [*tmp_path.glob("*.tar"), *tmp_path.glob("*.whl")], "its bundle is in the layout"
    assert "toy: left out" not in out.err
