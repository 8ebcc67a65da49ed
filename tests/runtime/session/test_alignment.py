"""Durations of tokens in frames."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime.session.model import frame_durations, repeat_tokens, token_of_frame


def test_frame_durations_round_like_torch() -> None:
    torch = pytest.importorskip("torch")
    duration = np.random.default_rng(1).uniform(0, 50, (1, 500)).astype(np.float32)
    duration[0, :4] = 0.5, 1.5, 2.5, 0.0
    for speed in (1.0, 0.7, 1.3, 3.0):
        expected = torch.round(torch.from_numpy(duration) / speed).clamp(min=1).long().squeeze()
        assert frame_durations(duration, speed).tolist() == expected.tolist()


@pytest.mark.parametrize("speed", [1e-45, 1e-300, 1e300])
def test_frame_durations_do_not_overflow(speed: float) -> None:
    frames = frame_durations(np.array([[0.0, 3.0]], np.float32), speed)
    assert frames.min() >= 1 if speed > 1 else frames[1] > 1 << 30


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_frame_durations_refuse_nan(value: float) -> None:
    with pytest.raises(BundleError, match="not finite"):
        frame_durations(np.array([[1.0, value]], np.float32), 1.0)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20))
def test_repeat_tokens_equals_the_alignment_matrix(durations: list[int]) -> None:
    counts = np.array(durations)
    index = token_of_frame(counts)
    matrix = np.zeros((counts.size, counts.sum()), np.float32)
    matrix[index, np.arange(index.size)] = 1
    features = np.random.default_rng(0).standard_normal((1, 3, counts.size)).astype(np.float32)
    frames = repeat_tokens(features, index)
    assert np.array_equal(frames, features @ matrix)
    assert matrix.sum(1).tolist() == durations
    assert frames.ctypes.data % 64 == 0
