"""The decoder's share of the peak, of machines whose time is given."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kokoro_tvm.validation.measure import peak
from kokoro_tvm.validation.measure.peak import peak_share

FLOPS = 10**9


class Machine:
    """Fake the CPU time of each turn, of the loop or the computation, by `slowness`."""

    def __init__(self, slowness: Iterator[float]) -> None:
        self.now, self.slowness = 0.0, slowness

    def compute(self) -> None:
        self.now += FLOPS / 1e10 * next(self.slowness)

    def loop(self, *about: Any, clock: Callable[[], float]) -> Machine:
        assert clock() == self.now
        return self

    def flops_per_second(self, turns: int) -> float:
        return 2e10 / next(self.slowness)


@pytest.fixture
def share(monkeypatch: pytest.MonkeyPatch) -> Callable[[Iterator[float]], float]:
    def measured(slowness: Iterator[float]) -> float:
        machine = Machine(slowness)
        monkeypatch.setattr(peak.time, "process_time", lambda: machine.now)
        monkeypatch.setattr(peak, "Loop", machine.loop)
        return peak_share(machine.compute, FLOPS, None)  # type: ignore[arg-type]

    return measured


def test_peak_share_of_half_the_peak(share: Callable[[Iterator[float]], float]) -> None:
    assert share(itertools.repeat(1.0)) == pytest.approx(0.5)


def test_peak_share_of_a_slow_core(share: Callable[[Iterator[float]], float]) -> None:
    assert share(itertools.repeat(3.0)) == pytest.approx(0.5)


def test_peak_share_ignores_a_delayed_turn(share: Callable[[Iterator[float]], float]) -> None:
    for place in range(1, 12):
        assert share(iter([1.0] * place + [50.0] + [1.0] * 20)) == pytest.approx(0.5)


def test_peak_share_of_a_slowing_core(share: Callable[[Iterator[float]], float]) -> None:
    assert share(1 + turn / 100 for turn in itertools.count()) == pytest.approx(0.5, rel=0.01)
