"""Times of words and phonemes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from letters import read_letters
from toy_bundle import SAMPLES

from kokoro_tvm.runtime import Synthesizer
from kokoro_tvm.runtime.speech.piece import LAST_SOUND
from kokoro_tvm.runtime.speech.sentences import words_of
from kokoro_tvm.runtime.speech.words import EARLY_FRAMES
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.frontend.tokens import Token, Utterance


def test_timeline_of_one_piece(fake: tuple[Synthesizer, Any]) -> None:
    """Counted by hand: a token lasts as many frames as its id, at most 9."""
    tts, _ = fake
    speech = tts.from_phonemes(". ab. ab")
    assert speech.durations.tolist() == [1, 2, 1, 9, 9, 2, 1, 9, 9, 1]
    first, second = speech.words
    assert (first.text, first.source, second.source) == ("ab", (2, 4), (6, 8))
    place = 4 - EARLY_FRAMES
    assert (first.start_sample, first.end_sample) == (place * SAMPLES, (place + 9 + LAST_SOUND) * SAMPLES)
    assert (second.start_sample, second.end_sample) == (
        (place + 21) * SAMPLES,
        (place + 30 + LAST_SOUND) * SAMPLES,
    )
    assert [p.symbol for p in second.phonemes] == ["a", "b"]
    assert second.phonemes[0].end_sample == second.phonemes[1].start_sample
    assert second.end == second.end_sample / 24000
    assert [word.text for word in speech.timeline] == [".", "ab", ".", "ab"]


@given(st.lists(st.sampled_from(["ab", "cd", "ˈef", ".", ",", "Z", "—"]), min_size=1), st.floats(0.5, 3))
@pytest.mark.filterwarnings("ignore::kokoro_tvm.runtime.SpeechWarning")
def test_timeline_is_ascending_and_complete(
    fake_synthesizer: Synthesizer, parts: list[str], speed: float
) -> None:
    speech = fake_synthesizer.from_phonemes(["ab", " ".join(parts) + " ab"], speed=speed)
    line = speech.timeline
    ends = [sample for word in line for sample in (word.start_sample, word.end_sample)]
    assert ends == sorted(ends)
    assert ends[0] >= 0 and ends[-1] <= speech.audio.size
    assert "".join(w.text for w in line) == "ab" + "".join(parts) + "ab"
    for word in line:
        assert all(
            word.start_sample <= p.start_sample <= p.end_sample <= word.end_sample for p in word.phonemes
        )


def test_timeline_matches_the_sound(fake: tuple[Synthesizer, Any]) -> None:
    """Times include the cuts at joins."""
    tts, _ = fake
    plan = tts.plan_phonemes(["mmmm.", "nnnn."])
    longer = plan.with_durations(0, 0, [60, 60, 1, 1])  # its silences are kept in part only
    speech = tts.render(longer)
    assert speech.plan is not None
    second = speech.words[1]
    alone = tts.render(longer, [1])
    offset = second.start_sample - alone.words[0].start_sample
    assert np.array_equal(speech.audio[offset:], alone.audio)


@pytest.mark.parametrize(("rate", "pauses"), [(1.0, True), (0.5, False), (2.0, True)])
def test_timeline_has_no_pause_after_slow_words(
    fake: tuple[Synthesizer, Any], rate: float, pauses: bool
) -> None:
    """A last phoneme of eight frames is silent in part, but not in a word at half the rate."""
    plan = fake[0].plan_phonemes("ab ab").with_durations(0, 0, [2, 8, 3])
    (piece,) = plan.pieces
    first, second = piece.words
    plan = replace(plan, pieces=(replace(piece, words=(replace(first, rate=rate), second)),))
    first_timed, second_timed = fake[0].render(plan).words
    assert (first_timed.end_sample < second_timed.start_sample) is pauses


def test_speech_of_run_has_no_words(fake: tuple[Synthesizer, Any]) -> None:
    assert fake[0].run([0, 3, 0], np.ones(4, np.float32)).words == ()


def test_chunks_have_their_words(fake: tuple[Synthesizer, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kokoro_tvm.runtime.speech.sentences.phonemize_sentence", read_letters)
    text = "He ran, and he ran on a hand. A big bad dog did that."
    chunks = list(fake[0].stream(text))
    words = [word for chunk in chunks for word in chunk.words]
    assert [text[slice(*word.source)] for word in words] == [word.text for word in words]
    for chunk in chunks:
        assert chunk.start <= chunk.words[0].start_sample < chunk.start + chunk.audio.size


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("ab, cd", [False, True, False]),
        ("**ab**, cd", [False, True, False]),
        ("ab , cd", [False, False, False]),
        ("ab/cd", [False, False]),
        ("ab—cd", [False, True, True]),
        ("(ab", [False, True]),
    ],
)
def test_words_are_joined_without_a_space(text: str, joined: list[bool]) -> None:
    """Omitted text between a word and a mark is markup; between two words it is a space."""
    tokens = [
        Token(match[0], *match.span(), match[0], origin="word" if match[0][0].isalpha() else "mark")
        for match in re.finditer(r"[a-z]+|[,—(]", text)
    ]
    assert [word.joined for word in words_of(Utterance(tuple(tokens)), SourceText.of(text))] == joined
