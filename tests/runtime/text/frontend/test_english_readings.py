"""English words whose reading depends on their neighbours: two readings, capitals, ends of sentences."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from yaml import safe_load

from kokoro_tvm.model.front_end.homograph_file import readings
from kokoro_tvm.runtime.documents.captions.lines import split_into_cues
from kokoro_tvm.runtime.speech.words import TimedWord
from kokoro_tvm.runtime.text.frontend.alphabet import CONSONANTS, PRIMARY, SECONDARY, VOWELS, restress
from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
from kokoro_tvm.runtime.text.frontend.english import English
from kokoro_tvm.runtime.text.frontend.homographs import HomographData, Homographs
from kokoro_tvm.runtime.text.frontend.lexicon import stress_of
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.passages import passages

CASES = safe_load((Path(__file__).parent / "cases/readings/en.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def file(front_end_files: Path) -> FrontEndFile:
    return FrontEndFile.open(front_end_files / "front_end.safetensors")


def spoken(file: FrontEndFile, text: str, british: bool = False) -> list[tuple[str, str]]:
    """(word, phonemes) of a text."""
    tokens = English(file.english(british), british).convert(SourceText.of(text))
    return [(token.text, token.phonemes) for token in tokens]


@pytest.mark.parametrize("case", CASES["homographs"], ids=lambda case: case["text"])
def test_a_word_of_two_readings(file: FrontEndFile, case: dict[str, str]) -> None:
    wanted = readings()[case["word"].lower()][case["reading"]]
    for variant, british in (("us", False), ("gb", True)):
        found = dict(spoken(file, case["text"], british))[case["word"]]
        assert found == restress(wanted[variant], stress_of(case["word"]))


def test_readings_are_written_in_the_alphabet_of_the_lexicon(file: FrontEndFile) -> None:
    """Each word has a reading that the lexicon has, and no two that sound alike."""
    alphabet = VOWELS | CONSONANTS | {PRIMARY, SECONDARY, "T", "ᵊ", "ː"}
    for variant, british in (("us", False), ("gb", True)):
        data = file.english(british)
        for word, named in readings().items():
            ours = [phonemes[variant] for phonemes in named.values()]
            assert set("".join(ours)) <= alphabet, word
            assert len(set(ours)) == len(ours), word
            entries = [d.get(w) for d in (data.gold, data.silver) for w in (word, word.capitalize())]
            known = {p for e in entries if e for p in ([e] if isinstance(e, str) else e.values())}
            assert known & set(ours), (word, known)


def test_the_highest_score_is_the_reading() -> None:
    model = Homographs(
        HomographData(
            mean=np.zeros(6, np.float32),
            deviation=np.ones(6, np.float32),
            scales=np.ones(2, np.float32),
            biases=np.array([0, 1], np.float32),
            weights=np.full((2, 8), 128, np.uint8),
            words={"bow": ["bˈO", "bˈW"]},
        )
    )
    states = np.zeros((3, 2), np.float32)
    assert model(["A", "Bow", "bows"], ["DT", "NN", "NNS"], states) == [None, "bˈW", None]


@pytest.mark.parametrize("case", CASES["capitals"], ids=lambda case: case["text"])
def test_capitals_among_capitals(file: FrontEndFile, case: dict[str, str]) -> None:
    found, wanted = ([p for _, p in spoken(file, case[name])] for name in ("text", "like"))
    assert without_stress(found) == without_stress(wanted)


def without_stress(phonemes: list[str]) -> str:
    return re.sub("[ˈˌ]", "", " ".join(phonemes))


@pytest.mark.parametrize("sentences", CASES["sentences"], ids=" ".join)
def test_where_a_sentence_ends(sentences: list[str]) -> None:
    text = " ".join(sentences)
    assert [passage.text for passage in passages([text])] == sentences
    assert [passage.text for passage in passages(iter(text))] == sentences


@pytest.mark.parametrize("sentences", CASES["sentences"], ids=" ".join)
def test_where_a_cue_ends(sentences: list[str]) -> None:
    words = [
        TimedWord(word, (place, place + 1), place, place + 1, 100, (), True, 0)
        for place, word in enumerate(" ".join(sentences).split())
    ]
    assert [cue.text.replace("\n", " ") for cue in split_into_cues(words)] == sentences
