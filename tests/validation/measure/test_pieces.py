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
from kokoro_tvm.runtime.speech import joins, planning, rendering
from kokoro_tvm.runtime.speech.piece import Piece
from kokoro_tvm.validation.measure.pieces import JudgedText, judge_text, texts_of

TEXT = JudgedText("text", ("həlo pəɹl.", "həl.", "həlo pəɹl."), "am_adam", 1.25, 7)
PASSED = {"max_durations_off": "passed", "max_samples_off": "passed", "max_pauses_off": "passed"}


def statuses(tts: Synthesizer) -> dict[str, str]:
    return {verdict.gate: verdict.status for verdict in judge_text(tts, TEXT).verdicts}


@pytest.fixture(scope="module")
def tts(tmp_path_factory: pytest.TempPathFactory) -> Synthesizer:
    bundle = read_bundle(write_bundle(tmp_path_factory.mktemp("pieces") / "bundle"))
    return Synthesizer.from_parts(bundle, FakeRunner(), Voices.open(bundle))


@pytest.mark.filterwarnings("ignore::kokoro_tvm.runtime.SpeechWarning")
class TestJudgeText:
    def test_a_sound_text_passes(self, tts: Synthesizer) -> None:
        assert statuses(tts) == PASSED

    def test_durations_rounded_down_fail(self, tts: Synthesizer, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = rendering.frame_durations
        monkeypatch.setattr(rendering, "frame_durations", lambda d, speed: whole(np.floor(d / 2), speed))
        assert statuses(tts)["max_durations_off"] == "failed"

    def test_noise_of_the_first_piece_fails(self, tts: Synthesizer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(planning, "Piece", lambda words, style, noise: Piece(words, style, noise=0))
        assert statuses(tts) == PASSED | {"max_samples_off": "failed"}

    @pytest.mark.parametrize("factor", [0.9, 1.1])
    def test_scaled_pauses_fail(
        self, factor: float, tts: Synthesizer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scaled: Callable[..., Any] = lambda seconds, rate: joins.pause_after(factor * seconds, rate)  # noqa: E731
        monkeypatch.setattr(planning, "pause_after", scaled)
        assert statuses(tts) == PASSED | {"max_pauses_off": "failed"}

    def test_another_row_of_the_style_fails(self, tts: Synthesizer, monkeypatch: pytest.MonkeyPatch) -> None:
        planned = planning._predicted

        def predict(model: Any, part: Any, style: Any, number: int) -> Any:
            return planned(model, part, replace(style, table=lambda voice: style.table(voice)[1:]), number)

        monkeypatch.setattr(planning, "_predicted", predict)
        assert "failed" in statuses(tts).values()


def test_texts_of_slow_references_alone_are_none() -> None:
    assert texts_of([]) == []
