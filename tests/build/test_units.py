"""Sizes and times as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.build.units import shown_bytes, shown_seconds


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (155_921, "156 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (1_722_936, "1.7 MB"),
        (402_347_089, "402 MB"),
        (15_500_000_000, "15.5 GB"),
    ],
)
def test_bytes(count: int, told: str) -> None:
    assert shown_bytes(count) == told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (229.867, "3 min 50 s"),
        (3599.7, "1 h 00 min"),
        (86_400, "24 h 00 min"),
    ],
)
def test_seconds(seconds: float, told: str) -> None:
    assert shown_seconds(seconds) == told


@given(st.floats(0, 1e9))
def test_they_stay_short(value: float) -> None:
    assert len(shown_bytes(value)) <= 8
    assert len(shown_seconds(value)) <= 15
