"""The commands that add a target, from a new recipe to a bundle that speaks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow("builds the two frame-side artifacts of a toy recipe, and those of a try")
def test_add_a_target(toy_copy: Path) -> None:
    def run(*words: str, status: int = 0) -> str:
        program = str(Path(sys.executable).with_name("kokoro-tvm"))
        done = subprocess.run([program, *words], cwd=toy_copy, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    recipe = toy_copy / "recipes" / "mine.yaml"
    recipe.write_text("extends: toy\nbuckets: {frame: [64]}\n", encoding="utf-8")
    assert "mine.yaml:2:11: unknown key `frame` in `buckets`" in run("recipe", "check", str(recipe), status=2)
    recipe.write_text("extends: toy\nbuckets: {frames: [64]}\n", encoding="utf-8")
    assert "mine.yaml: ok, 5 artifacts of toy-model" in run("recipe", "check", "recipes/mine.yaml")
    assert "recipes/mine.yaml:2, over recipes/toy.yaml" in run("recipe", "show", "mine", "--origin")
    assert "mine.compile.decoder-64" in run("plan", "mine")
    # The text side is that of `toy`, and is taken from what was built.
    assert "mine.compile.bert-64" in run("build", "mine")
    assert (toy_copy / "artifacts" / "mine" / "bundle.json").is_file()
    run("say", "--bundle", "artifacts/mine", "--phonemes", "həl.", "-o", "mine.wav")
    found = json.loads(run("diff", "toy", "mine", "--json"))
    assert {"what": "buckets.frames.0", "before": "130", "now": "64"} in found["recipe"]
    before = (toy_copy / "artifacts" / "mine" / "bundle.json").read_bytes()
    run("build", "mine", "--with", "gates.decoder.min_snr_db=31")
    tried = toy_copy / "artifacts" / "mine+gates-decoder-min-snr-db-31" / "bundle.json"
    assert tried.is_file()
    assert (toy_copy / "artifacts" / "mine" / "bundle.json").read_bytes() == before
    assert recipe.read_text(encoding="utf-8") == "extends: toy\nbuckets: {frames: [64]}\n"
