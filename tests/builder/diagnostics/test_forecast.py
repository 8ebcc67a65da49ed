"""Time of a build, simulated from the durations of earlier runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kokoro_tvm.builder.diagnostics.forecast import Forecast
from kokoro_tvm.builder.engine.resources import Budget, Needs


def step(name: str, seconds: float | None, *after: str, action: str = "run", cpus: float = 0.0) -> Any:
    """Return the part of a step that a forecast reads."""
    before = tuple(SimpleNamespace(name=other) for other in after)
    stage = SimpleNamespace(name=name, after=before, needs=Needs(cpus=cpus))
    return SimpleNamespace(stage=stage, seconds=seconds, action=action)


STEPS = [step("a", 4.0), step("b", 3.0), step("c", 2.0, "a"), step("d", 1.0, "a", "b", action="perhaps")]


@pytest.mark.parametrize(("workers", "seconds"), [(1, 10.0), (2, 6.0), (3, 6.0)])
def test_forecast_counts_workers(workers: int, seconds: float) -> None:
    assert Forecast(STEPS, workers).seconds() == seconds


def test_forecast_counts_what_is_left() -> None:
    forecast = Forecast(STEPS, 2)
    assert forecast.seconds({"a": 1.0, "b": 1.0}) == 5.0
    assert forecast.seconds({"c": 5.0}, ["a", "b"]) == 1.0
    assert forecast.seconds({}, ["a", "b", "c", "d"]) == 0.0


def test_forecast_leaves_out_what_does_not_run() -> None:
    steps = [step("a", 0.0, action="nothing"), step("b", None, "a"), step("c", 2.0, "b")]
    assert Forecast(steps, 2).seconds() == 2.0


def test_forecast_keeps_to_the_budget() -> None:
    steps = [step(name, 2.0, cpus=2.0) for name in "abc"]
    assert Forecast(steps, 3, Budget(Needs(8.0, 4.0))).seconds() == 4.0
