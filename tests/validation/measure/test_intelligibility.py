"""Word error rates, and the gate on them, with ears of paper."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.common.errors import InputError, ValidationError
from kokoro_tvm.runtime.bundle.languages import KOKORO, SpokenLanguage
from kokoro_tvm.validation.measure import recogniser
from kokoro_tvm.validation.measure.intelligibility import (
    SENTENCES,
    VOICES,
    Transcript,
    english_voices,
    split_words,
    validate_intelligibility,
)

GATE = {"max_word_error_increase": 0.01}


def test_sentences_and_voices_of_the_gate() -> None:
    assert len(set(SENTENCES)) == 24
    assert len(set(VOICES)) == 4
    assert all(len(split_words(sentence)) >= 6 for sentence in SENTENCES)


def test_voices_are_the_bundles() -> None:
    kokoro = ("af_bella", "af_heart", "am_michael", "bf_emma", "bm_george", "ef_dora", "zm_yunxi")
    assert english_voices(kokoro, KOKORO) == VOICES
    assert english_voices(("af_sky", "af_bella", "ef_dora"), KOKORO) == ("af_bella",)
    own = {"d": SpokenLanguage("German", "de"), "e": SpokenLanguage("Irish English", "en-gb-x-ie")}
    assert english_voices(("anna", "ef_ciara", "em_sean", "df_rosa"), own) == ("ef_ciara", "em_sean")
    with pytest.raises(InputError, match=r"are English, and the bundle speaks German\. Leave the gate out\."):
        english_voices(("anna",), {"d": SpokenLanguage("German", "de")})


def test_split_words_drops_case_and_punctuation() -> None:
    assert split_words("It’s easy, to tell… THE depth!") == ["it's", "easy", "to", "tell", "the", "depth"]


@pytest.mark.parametrize(
    ("heard", "errors"),
    [
        ("The boy was there when the sun rose.", 0),
        ("the boy was there, when the sun rose", 0),
        ("The boy was there when the sun rows.", 1),
        ("boy was there when the sun rose", 1),
        ("The boy was there when the the sun rose", 1),
        ("Boy the was there when the sun rose", 2),
        ("", 8),
        ("a b c d e f g h i j", 10),
    ],
)
def test_word_errors(heard: str, errors: int) -> None:
    assert rate("The boy was there when the sun rose.", heard) == errors / 8


LISTS = st.lists(st.sampled_from("abc"), min_size=1, max_size=6)


@given(LISTS, LISTS)
def test_word_error_rate_is_an_edit_distance(a: list[str], b: list[str]) -> None:
    assert rate(" ".join(a), " ".join(b)) == distance(a, b) / len(a)


def distance(a: list[str], b: list[str]) -> int:
    """Compute the edit distance of two lists of words."""
    if not a or not b:
        return len(a) + len(b)
    replaced = distance(a[1:], b[1:]) + (a[0] != b[0])
    return min(replaced, 1 + distance(a[1:], b), 1 + distance(a, b[1:]))


def rate(sentence: str, understood: str) -> float:
    """Return the word error rate of one sentence."""
    report = validate_intelligibility([Transcript("a", sentence, understood, sentence)], GATE)
    return report.utterances[0].outputs["all"]["word_error_rate"]


def heard(ours: int, stock: int) -> list[Transcript]:
    """Build transcripts of 200 words in two voices, with errors in the first voice."""

    def spoilt(count: int) -> str:
        return " ".join(["um"] * count + ["word"] * (100 - count))

    return [Transcript("a", spoilt(0), spoilt(ours), spoilt(stock)), Transcript("b", *[spoilt(0)] * 3)]


@pytest.mark.parametrize(
    ("ours", "stock", "passed"), [(0, 0, True), (12, 10, True), (13, 10, False), (0, 9, True)]
)
def test_gate_counts_errors_of_the_bundle_only(ours: int, stock: int, passed: bool) -> None:
    report = validate_intelligibility(heard(ours, stock), GATE)
    (utterance,) = report.utterances
    assert report.passed is passed
    assert list(utterance.outputs) == ["a", "b", "all"]
    assert utterance.outputs["a"]["word_error_rate"] == ours / 100
    assert utterance.outputs["all"]["stock_word_error_rate"] == stock / 200
    if not passed:
        with pytest.raises(
            ValidationError, match=r"all: word_error_increase 0.015, max_word_error_increase 0.01"
        ):
            report.require()


@pytest.mark.parametrize("missing", ["moonshine_voice", "jiwer"])
def test_open_recogniser_needs_the_extra(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        recogniser.importlib.util,
        "find_spec",
        lambda name: None if name == missing else SimpleNamespace(origin="here"),
    )
    with pytest.raises(ValidationError, match=r"Install it: pip install 'kokoro-tvm\[asr\]'"):
        recogniser.open_recogniser()


def test_check_model_refuses_another_model(tmp_path: Path) -> None:
    name = "decoder_model_merged.ort"
    with pytest.raises(ValidationError, match=rf"{name} should have the SHA-256 \w+, but has nothing"):
        recogniser.check_model(tmp_path)
    (tmp_path / name).write_bytes(b"another")
    with pytest.raises(ValidationError, match=hashlib.sha256(b"another").hexdigest()):
        recogniser.check_model(tmp_path)
