"""The bundle and the stock model say the same to the recogniser: the same tokens, with the same noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from test_speaks import ROOT, built  # noqa: F401 (a fixture)

from kokoro_tvm.model.kokoro import load_config, load_state
from kokoro_tvm.validation.measure import listening
from kokoro_tvm.validation.measure.metrics import magnitude_correlation

pytestmark = [pytest.mark.slow("builds the real weights"), pytest.mark.weights]


class Ears:
    """Recogniser that keeps the audio and returns no text."""

    def __init__(self) -> None:
        self.heard: list[NDArray[np.float32]] = []

    def transcribe(self, audio: NDArray[np.float32], sample_rate: int) -> str:
        assert sample_rate == 24000
        self.heard.append(audio)
        return f"{len(self.heard)}"


def test_listen_gives_both_the_same_tokens(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(listening, "SENTENCES", ("Rice is often served in round bowls.",))
    checkpoint, ears = ROOT / "artifacts" / "checkpoint" / "kokoro-82m", Ears()
    output = listening.listen(
        built, load_config(checkpoint), load_state(checkpoint), ears, voices=("bf_emma",), threads=None
    )
    assert [(h.voice, h.sentence, h.ours, h.stock) for h in output] == [
        ("bf_emma", "Rice is often served in round bowls.", "1", "2")
    ]
    ours, stock = ears.heard
    assert ours.dtype == stock.dtype == np.float32
    assert magnitude_correlation(ours, stock) > 0.999
