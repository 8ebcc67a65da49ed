"""A toy bundle with a front end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from front_end_data import toy_front_end
from toys import doit

from kokoro_tvm.runtime import read_bundle
from kokoro_tvm.runtime.bundle.manifest import SCHEMA
from kokoro_tvm.runtime.bundle.provenance import read_provenance
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.source import SourceText


@pytest.mark.slow("builds the toy's bundle again")
def test_bundle_speaks_with_its_front_end(toy_copy: Path) -> None:
    path = toy_copy / "recipes" / "toy-model.yaml"
    model = yaml.safe_load(path.read_text(encoding="utf-8"))
    model["front_end"] = toy_front_end(toy_copy)
    path.write_text(yaml.safe_dump(model, allow_unicode=True), encoding="utf-8")
    process = doit(toy_copy, "toy")
    assert process.returncode == 0, process.stdout + process.stderr
    assert "toy-model.front_end" in process.stdout
    assert "compile" not in process.stdout, "nothing else depends on it"
    folder = toy_copy / "artifacts" / "toy"
    bundle = read_bundle(folder)
    assert bundle.front_end is not None
    assert bundle.front_end in bundle.files()
    (utterance,) = FrontEnd.open(bundle).read(SourceText.of("The cat sat."), "a").utterances
    assert [token.phonemes for token in utterance.tokens][:3] == ["ðə", "kˈæt", "sˈæt"]
    provenance = read_provenance(folder / "provenance.json")
    assert provenance.subjects["front_end.safetensors"] == bundle.front_end.sha256
    pinned = model["front_end"]["lexicon"]["files"]
    assert {name: provenance.dependencies[f"lexicon/{name}"] for name in pinned} == pinned
    assert json.loads((folder / "bundle.json").read_text(encoding="utf-8"))["schema"] == SCHEMA
