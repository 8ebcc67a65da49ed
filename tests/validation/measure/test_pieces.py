"""The gate on texts of several pieces, on a bundle that computes something simple."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from toy_bundle import FakeRunner, write_bundle

from kokoro_tvm import Synthesizer
from kokoro_tvm.runtime import read_bundle
from kokoro_tvm.runtime.bundle.voices import Voices
from kokoro_tvm.runtime.session.noise import seed_words
from kokoro_tvm.runtime.speech import joins, planning, rendering
from kokoro_tvm.validation.measure.pieces import JudgedText, choose_texts, judge_text

PIECES = ("həlo pəɹl.", "həl.", "həlo pəɹl.")
SPEED = 1.25
Statuses = Callable[[], dict[str, str]]
PASSED = {"max_durations_off": "passed", "max_samples_off": "passed", "max_pauses_off": "passed"}


@pytest.fixture(scope="module")
def tts(tmp_path_factory: pytest.TempPathFactory) -> Synthesizer:
    bundle = read_bundle(write_bundle(tmp_path_factory.mktemp("pieces") / "bundle"))
    return Synthesizer.from_parts(bundle, FakeRunner(), Voices.open(bundle))


@pytest.fixture(scope="module")
def text(tts: Synthesizer) -> JudgedText:
    speeches = [tts.from_phonemes(phonemes, voice="am_adam", speed=SPEED) for phonemes in PIECES]
    return JudgedText("text", PIECES, tuple(s.durations for s in speeches), "am_adam", SPEED, 7)


@pytest.fixture
def statuses(tts: Synthesizer, text: JudgedText) -> Callable[[], dict[str, str]]:
    return lambda: {verdict.gate: verdict.status for verdict in judge_text(tts, text).verdicts}


@pytest.mark.filterwarnings("ignore::kokoro_tvm.runtime.SpeechWarning")
class TestJudgeText:
    def test_correct_text_passes(self, statuses: Statuses) -> None:
        assert statuses() == PASSED

    def test_halved_durations_fail(self, statuses: Statuses, monkeypatch: pytest.MonkeyPatch) -> None:
        original = rendering.frame_durations
        monkeypatch.setattr(rendering, "frame_durations", lambda d, speed: original(np.floor(d / 2), speed))
        assert statuses()["max_durations_off"] == "failed"

    def test_noise_of_the_first_piece_fails(
        self, statuses: Statuses, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rendering, "seed_words", lambda seed, number: seed_words(seed, 0))
        assert statuses() == PASSED | {"max_samples_off": "failed"}

    @pytest.mark.parametrize("factor", [0.9, 1.1])
    def test_scaled_pauses_fail(
        self, factor: float, statuses: Statuses, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scaled: Callable[..., Any] = lambda seconds, rate: joins.split_pause(factor * seconds, rate)  # noqa: E731
        monkeypatch.setattr(planning, "split_pause", scaled)
        assert statuses() == PASSED | {"max_pauses_off": "failed"}

    def test_other_style_row_fails(self, statuses: Statuses, monkeypatch: pytest.MonkeyPatch) -> None:
        original = planning._plan_part

        def predict(model: Any, part: Any, style: Any) -> Any:
            return original(model, part, replace(style, table=lambda voice: style.table(voice)[1:]))

        monkeypatch.setattr(planning, "_plan_part", predict)
        assert "failed" in statuses().values()


def test_choose_texts_without_references_is_empty() -> None:
    assert choose_texts([]) == []
