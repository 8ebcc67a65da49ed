"""What was heard is found where silence lies within, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from watched_pages import FADE, places_of

SPEECH = np.sin(np.arange(3000, dtype=np.float32) ** 1.1 / 20)
SPEECH[1200:1500] = 0
SPEECH.flags.writeable = False


def silence(last: float, length: int) -> np.ndarray:
    """As the queue of the page gives it."""
    return np.float32(last) * np.maximum(0, 1 - np.arange(1, length + 1) / FADE).astype(np.float32)


@given(
    cuts=st.sets(st.integers(1, 29), max_size=4).map(lambda hundreds: sorted(100 * cut for cut in hundreds)),
    length=st.integers(1, 500),
    before=st.integers(0, 300),
)
def test_it_is_found_whatever_pauses_lie_within(cuts: list[int], length: int, before: int) -> None:
    parts = [np.zeros(before, np.float32)]
    for part in np.split(SPEECH, cuts):
        parts += [part, silence(part[-1], length)]
    heard = np.concatenate(parts)
    assert before in places_of(SPEECH, heard)


@pytest.mark.parametrize("place", [10, 700, 1350, 2999])
def test_a_sample_that_is_missing_or_another_is_noticed(place: int) -> None:
    other = SPEECH.copy()
    other[place] += 0.5
    assert places_of(SPEECH, other) == []
    if SPEECH[place]:
        assert places_of(SPEECH, np.delete(SPEECH, place)) == []
    assert places_of(SPEECH, np.insert(SPEECH, place, 0.9)) == []


def test_every_time_is_counted() -> None:
    heard = np.concatenate([SPEECH, silence(SPEECH[-1], 400), SPEECH])
    assert places_of(SPEECH, heard) == [0, 3400]
