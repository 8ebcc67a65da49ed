"""What is recorded: only what is right and faster. Clock, times and errors are made up."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from kokoro_tvm.common.features import Features
from kokoro_tvm.kernels.base.schedule import ConvChoice
from kokoro_tvm.kernels.base.semantic import OpCall, registry
from kokoro_tvm.kernels.conv1d import plan_of
from kokoro_tvm.tools.lab.tuning.layers import TunedLayer, representative
from kokoro_tvm.tools.lab.tuning.search import TuningResult, search

FEATURES = Features(8, 16)


def call(channels: int = 16, taps: int = 3, **attributes: object) -> OpCall:
    found_result = {"stride": 1, "padding": 1, "dilation": 1, "slope": 1.0, "gain": 1.0, "tolerant": True}
    shapes = {"x": (1, "x_1", channels), "weight": (channels, channels, taps), "length": (1,)}
    return OpCall(shapes, found_result | attributes, (1, "y_1", channels), FEATURES)


LAYER = representative([("conv1d", call())])[0]


class FakeTrial:
    def __init__(self, seconds: Callable[[], float], error: float) -> None:
        self.seconds, self.error = seconds, error


def outcome(
    times: Callable[[ConvChoice], float], errors: Callable[[ConvChoice], float], layer: TunedLayer = LAYER
) -> TuningResult:
    def prepare(layer: TunedLayer, choice: ConvChoice) -> FakeTrial:
        return FakeTrial(lambda: times(choice), errors(choice))

    (found,) = search([layer], prepare, 1.0, lambda: 0.0)
    return found


def right(choice: ConvChoice) -> float:
    return 1e-6


def asked_for(layer: TunedLayer) -> list[ConvChoice]:
    """The choices that are tried where few tiles are fast."""
    requests: list[ConvChoice] = []

    def errors(choice: ConvChoice) -> float:
        requests.append(choice)
        return 0.0

    outcome(lambda c: c.tiles or 0, errors, layer)
    return requests


def test_the_fastest_is_found() -> None:
    found = outcome(lambda c: 1.0 if (c.outputs, c.taps) == (4, 4) else 2.0, right)
    assert found.choice is not None
    assert (found.choice.outputs, found.choice.taps) == (4, 4)
    assert (found.before, found.after, found.wrong) == (2.0, 1.0, ())


def test_tiles_are_searched() -> None:
    found = outcome(lambda c: c.tiles or 0, right)
    assert found.choice is not None
    assert found.choice.tiles is not None
    assert found.rule.tiles is not None
    assert found.choice.tiles < found.rule.tiles


@pytest.mark.parametrize("error", [1.1e-5, float("nan"), float("inf")])
def test_a_wrong_result_is_refused_however_fast(error: float) -> None:
    rule = outcome(lambda c: 1.0, right).rule

    def errors(choice: ConvChoice) -> float:
        return 1e-6 if choice == rule else error

    found = outcome(lambda c: 2.0 if c == rule else 1.0, errors)
    assert found.choice is None
    assert found.after == found.before == 2.0
    assert found.wrong


@pytest.mark.parametrize("gain", [-0.5, 0.0, 0.02])
def test_what_is_no_faster_is_refused(gain: float) -> None:
    rule = outcome(lambda c: 1.0, right).rule
    found = outcome(lambda c: 1.0 if c == rule else 1.0 - gain, right)
    assert (found.choice, found.after) == (None, 1.0)


def test_what_was_fast_only_once_is_refused() -> None:
    """The second, longer measurement decides."""
    rule = outcome(lambda c: 1.0, right).rule
    calls: dict[ConvChoice, itertools.count[int]] = {}

    def times(choice: ConvChoice) -> float:
        count = next(calls.setdefault(choice, itertools.count()))
        return 1.0 if choice == rule else 0.5 if count < 16 else 1.5

    assert outcome(times, right).choice is None


def test_no_layer_is_begun_after_the_time() -> None:
    clock = iter(range(100))
    layers = [LAYER] * 5
    found = list(search(layers, lambda layer, c: FakeTrial(lambda: 1.0, 0.0), 3.0, lambda: next(clock)))
    assert len(found) == 2


def test_a_layer_still_gives_the_moments_that_are_wanted() -> None:
    wanted = replace(LAYER.call, moments=("moments_0", 4, 16))
    requests = asked_for(replace(LAYER, call=wanted))
    assert requests
    gives = registry()["conv1d"].cpu.can_emit_moments
    assert all(gives(replace(wanted, choice=choice)) for choice in requests)


def test_equal_layers_are_one_and_the_long_ones_come_first() -> None:
    masked = replace(call(), shapes=dict(call().shapes) | {"x": (1, 64, 16)}, result=(1, 64, 16))
    exact = call(dilation=3, padding=3)
    layers = representative(
        [("conv1d", call(8)), ("conv1d", masked), ("conv1d", call()), ("conv1d", exact), ("gelu", call())]
    )
    assert [(layer.name, layer.count) for layer in layers] == [
        ("conv1d 16->16 k3 d1 float32 8x16", 2),
        ("conv1d 16->16 k3 d3 float32 8x16", 1),
        ("conv1d 8->8 k3 d1 float32 8x16", 1),
    ]
    assert all(layer.call.shapes["x"][1] == "x_1" and "length" not in layer.call.shapes for layer in layers)


@pytest.mark.parametrize("attributes", [{"tolerant": False}, {"stride": 2}])
def test_layers_without_a_choice_have_no_name(attributes: dict[str, object]) -> None:
    assert representative([("conv1d", call(**attributes))]) == []


def test_candidates_have_kernels() -> None:
    for taps, dilation in itertools.product((1, 2, 3, 5, 7, 11), (1, 3, 5, 8)):
        layer = representative([("conv1d", call(taps=taps, dilation=dilation))])[0]
        for choice in asked_for(layer):
            plan_of(replace(layer.call, choice=choice))  # raises where there is none
