"""The stage `phonemes`, which compares the front end with misaki."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from front_end_data import shipped

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.stages import phonemes as stage
from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.recipe import Gates, load_recipe
from kokoro_tvm.runtime.text.frontend.english import EnglishFrontEnd
from kokoro_tvm.runtime.text.frontend.tokens import Token

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def arguments(front_end_files: Path, tmp_path: Path) -> dict[str, Any]:
    sentences = tmp_path / "sentences.txt"
    sentences.write_text("# two\nThey record a record in 1999.\nDr. Xyzzy's cat sat.\n", encoding="utf-8")
    gates: Gates = load_recipe("cpu", REPOSITORY / "recipes").gates
    names = ("front_end.safetensors", "tagger.zip")
    inputs = Inputs({name: (str(front_end_files / name), "0" * 64) for name in names})
    return {"inputs": inputs, "gates": gates.model_dump(mode="json"), "sentences": str(sentences)}


def test_phonemes_writes_a_report(arguments: dict[str, Any], tmp_path: Path) -> None:
    stage.run(tmp_path, **arguments)
    report = json.loads((tmp_path / "phonemes.json").read_text(encoding="utf-8"))
    assert (report["passed"], report["missed"]) == (True, [])
    assert [u["name"] for u in report["utterances"]] == ["American English", "British English"]
    assert all(u["outputs"]["phonemes"]["unknown_words"] == 1 for u in report["utterances"])


def test_phonemes_fails_a_wrong_symbol(
    arguments: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = EnglishFrontEnd.convert

    def convert(self: EnglishFrontEnd, text: str) -> list[Token]:
        (first, *others) = there(self, text)
        return [Token(first.text, first.start, first.end, "ə", first.space, first.tag, first.origin), *others]

    monkeypatch.setattr(EnglishFrontEnd, "convert", convert)
    with pytest.raises(ValidationError, match="American English: phoneme_error_rate"):
        stage.run(tmp_path, **arguments)
    assert json.loads((tmp_path / "phonemes.json").read_text(encoding="utf-8"))["differences"]


def test_shipped_recipe_pins_the_phonemes() -> None:
    assert {source.kind for source in shipped().tagger.sources} == {"https", "pypi"}
