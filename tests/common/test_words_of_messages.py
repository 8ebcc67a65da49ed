"""Times as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.common.words import format_seconds


@pytest.mark.parametrize(
    ("seconds", "result"),
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
def test_format_seconds(seconds: float, result: str) -> None:
    assert format_seconds(seconds) == result


@given(st.floats(0, 1e9))
def test_format_seconds_stays_short(value: float) -> None:
    assert len(format_seconds(value)) <= 15
