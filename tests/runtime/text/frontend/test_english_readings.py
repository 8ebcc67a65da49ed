"""English words that depend on their neighbours: homographs, capitals, abbreviations."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from yaml import safe_load

from kokoro_tvm.model.front_end.homograph_file import read_homographs
from kokoro_tvm.runtime.documents.captions.lines import split_into_cues
from kokoro_tvm.runtime.speech.words import TimedWord
from kokoro_tvm.runtime.text.frontend.alphabet import CONSONANTS, PRIMARY, SECONDARY, VOWELS, restress
from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
from kokoro_tvm.runtime.text.frontend.english import EnglishFrontEnd
from kokoro_tvm.runtime.text.frontend.homographs import HomographData, Homographs
from kokoro_tvm.runtime.text.frontend.lexicon import capital_stress
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.passages import split_passages
from kokoro_tvm.validation.measure.phonemes import edit_distance

CASES = safe_load((Path(__file__).parent / "cases/readings/en.yaml").read_text(encoding="utf-8"))


HETERONYMS = [
    tuple(line.split("\t"))
    for line in (Path(__file__).parent / "cases/readings/heteronyms.tsv").read_text("utf-8").splitlines()
]
"""A sentence with its heteronym between underscores, the phonemes of its reading and those of another one."""


@pytest.fixture(scope="module")
def file(front_end_files: Path) -> FrontEndFile:
    return FrontEndFile.open(front_end_files / "front_end.safetensors")


def spoken(file: FrontEndFile, text: str, british: bool = False) -> list[tuple[str, str]]:
    """Return (word, phonemes) of a text."""
    tokens = EnglishFrontEnd(file.english(british), british).convert(SourceText.of(text))
    return [(token.text, token.phonemes) for token in tokens]


@pytest.mark.parametrize("case", CASES["homographs"], ids=lambda case: case["text"])
def test_homographs_choose_the_reading(file: FrontEndFile, case: dict[str, str]) -> None:
    wanted = read_homographs()[case["word"].lower()][case["reading"]]
    for variant, british in (("us", False), ("gb", True)):
        found = dict(spoken(file, case["text"], british))[case["word"]]
        assert found == restress(wanted[variant], capital_stress(case["word"]))


def test_heteronyms_in_running_prose_are_read_right(file: FrontEndFile) -> None:
    english = EnglishFrontEnd(file.english(False), False)
    wrong = []
    for sentence, right, other in HETERONYMS:
        before = sentence.partition("_")[0]
        tokens = english.convert(SourceText.of(sentence.replace("_", "")))
        phonemes = next(t.phonemes for t in tokens if t.end > len(before)).replace(SECONDARY, "")
        if edit_distance(right, phonemes) >= edit_distance(other, phonemes):
            wrong.append(sentence)
    assert len(wrong) <= 14, wrong


def test_homograph_readings_are_in_the_alphabet(file: FrontEndFile) -> None:
    """Each word that the lexicon has has one of its pronunciations, and no two equal ones."""
    alphabet = VOWELS | CONSONANTS | {PRIMARY, SECONDARY, "T", "ᵊ", "ː"}
    for variant, british in (("us", False), ("gb", True)):
        data = file.english(british)
        for word, named in read_homographs().items():
            ours = [phonemes[variant] for phonemes in named.values()]
            assert set("".join(ours)) <= alphabet, word
            assert len(set(ours)) == len(ours), word
            entries = [d.get(w) for d in (data.gold, data.silver) for w in (word, word.capitalize())]
            known = {p for e in entries if e for p in ([e] if isinstance(e, str) else e.values())}
            assert not known or known & set(ours), (word, known)


def test_homographs_choose_the_highest_score() -> None:
    model = Homographs(
        HomographData(
            mean=np.zeros(6, np.float32),
            deviation=np.ones(6, np.float32),
            scales=np.ones(2, np.float32),
            biases=np.array([0, 1], np.float32),
            weights=np.full((2, 8), 128, np.uint8),
            words={"bow": (0, ["bˈO", "bˈW"]), "bows": (0, ["bˈOz", "bˈWz"])},
        )
    )
    states = np.zeros((3, 2), np.float32)
    assert model(["A", "Bow", "bows"], ["DT", "NN", "NNS"], states) == [None, "bˈW", "bˈWz"]


@pytest.mark.parametrize("case", CASES["capitals"], ids=lambda case: case["text"])
def test_shouted_words_are_read_in_lower_case(file: FrontEndFile, case: dict[str, str]) -> None:
    found, wanted = ([p for _, p in spoken(file, case[name])] for name in ("text", "like"))
    assert without_stress(found) == without_stress(wanted)


def without_stress(phonemes: list[str]) -> str:
    return re.sub("[ˈˌ]", "", " ".join(phonemes))


@pytest.mark.parametrize("sentences", CASES["sentences"], ids=" ".join)
def test_split_passages_after_abbreviations(sentences: list[str]) -> None:
    text = " ".join(sentences)
    assert [passage.text for passage in split_passages([text])] == sentences
    assert [passage.text for passage in split_passages(iter(text))] == sentences


@pytest.mark.parametrize("sentences", CASES["sentences"], ids=" ".join)
def test_captions_break_after_abbreviations(sentences: list[str]) -> None:
    words = [
        TimedWord(word, (place, place + 1), place, place + 1, 100, (), True, 0)
        for place, word in enumerate(" ".join(sentences).split())
    ]
    assert [cue.text.replace("\n", " ") for cue in split_into_cues(words)] == sentences
