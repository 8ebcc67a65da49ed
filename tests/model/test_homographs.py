"""Homograph model: training, and its data in a bundle."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from front_end_data import shipped
from homographs import Sentence, learn, patterns, right

from kokoro_tvm.model.front_end import homograph_file
from kokoro_tvm.model.front_end.homograph_file import homograph_arrays, number_readings, read_homographs
from kokoro_tvm.runtime.text.frontend.homographs import HomographData, Homographs

ORDER = {
    "use": ["use_nou", "use_vrb"],
    "uses": ["use_nou", "use_vrb"],
    "house": ["house_nou", "house_vrb"],
    "moped": ["moped_nou", "moped_vrb"],
}
WORDS = {word: (row, ORDER[word]) for row, word in ((0, "use"), (0, "uses"), (2, "house"), (4, "moped"))}


def sentence(word: str, kind: str, before: str, after: str) -> Sentence:
    """Three words with equal states, so that only feature names differ."""
    base = "use" if word == "uses" else word
    tags = ("TO", "VB", "NN") if kind == "vrb" else ("DT", "NN", "VBZ")
    return Sentence(word, f"{base}_{kind}", 1, (before, word, after), tags, np.zeros((3, 4), np.float32))


def sentences(word: str, kinds: tuple[str, ...] = ("nou", "vrb")) -> list[Sentence]:
    before = {"nou": ("the", "a", "this"), "vrb": ("to", "will", "they")}
    return [
        sentence(word, kind, first, last)
        for kind in kinds
        for first, last in product(before[kind], ("now", "here", "there"))
    ]


def test_homograph_model_reads_other_sentences() -> None:
    results = [*sentences("use"), *sentences("house"), *sentences("moped", ("nou",))]
    model = Homographs(HomographData(**learn(results, ORDER), words=WORDS))
    words = ("use", "uses", "house")  # no sentence has "uses", which shares the weights of "use"
    others = [sentence(word, kind, "so", "then") for word in words for kind in ("nou", "vrb")]
    assert right(model, [*results, *others]) == len(results) + 6
    # No sentence has the verb: features of other verbs decide.
    assert right(model, [sentence("moped", "vrb", "to", "now")]) == 1


def test_patterns_draw_sentences_for_every_reading() -> None:
    content = {
        "frames": {"nou": ["{The|A} _ was good."], "vrb": ["_ {it|them}!"]},
        "words": {"bass": {"bass": ["He plays {the|a} _."], "bass_corp": ["_ {swim|eat}."]}},
    }
    order = {
        "bass": ["bass", "bass_corp"],
        "use": ["use_nou", "use_vrb"],
        "affect": ["affect", "affect_nou-psy"],  # neither patterns nor a name that says where it is a verb
    }
    assert sorted(patterns(content, order)) == [
        ("bass", "bass", "He plays a _bass_."),
        ("bass", "bass", "He plays the _bass_."),
        ("bass", "bass_corp", "_bass_ eat."),
        ("bass", "bass_corp", "_bass_ swim."),
        ("use", "use_nou", "A _use_ was good."),
        ("use", "use_nou", "The _use_ was good."),
        ("use", "use_vrb", "_use_ it!"),
        ("use", "use_vrb", "_use_ them!"),
    ]


def test_homograph_arrays_need_their_tagger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tagger = tmp_path / "model"
    tagger.write_bytes(b"another")
    assert homograph_arrays(tagger) == {}
    pinned = homograph_file.map_safetensors(homograph_file.WEIGHTS)["tagger"].tobytes().hex()
    monkeypatch.setattr(homograph_file, "file_sha256", lambda path: pinned)
    arrays = homograph_arrays(tagger)
    rows = len(number_readings())
    assert [len(arrays[f"homographs.{name}"]) for name in ("scales", "biases", "weights")] == [rows] * 3


def test_readings_of_a_word_have_consecutive_rows() -> None:
    rows = number_readings()
    for word, readings in read_homographs().items():
        first = rows[next(iter(readings))]
        assert [rows[name] for name in readings] == [*range(first, first + len(readings))], word


def test_homograph_tagger_is_that_of_the_recipe() -> None:
    pinned = homograph_file.map_safetensors(homograph_file.WEIGHTS)["tagger"].tobytes().hex()
    assert pinned == shipped().tagger.files["tok2vec/model"]
