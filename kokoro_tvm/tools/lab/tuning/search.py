"""The search: the choices for a layer, which of them are correct, and whether one beats the rule."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from kokoro_tvm.kernels.base.filtering import DIRECT, Filtering
from kokoro_tvm.kernels.base.schedule import ConvChoice
from kokoro_tvm.kernels.base.semantic import registry
from kokoro_tvm.kernels.conv1d import plan_of
from kokoro_tvm.tools.lab.tuning.layers import TunedLayer

__all__ = ["ALLOWED_ERROR", "Trial", "TuningResult", "search"]

ALLOWED_ERROR = {"float32": 1e-5, "bfloat16": 2e-2}
"""Root mean square of a layer's error, relative to that of its results in float64."""
_FILTERINGS = {
    "float32": (
        DIRECT,
        Filtering(4, 3),
        Filtering(6, 3),
        Filtering(4, 4),
        Filtering(4, 7),
        Filtering(5, 7),
        Filtering(8, 7),
        Filtering(6, 6),
    ),
    "bfloat16": (DIRECT, Filtering(2, 3), Filtering(4, 3), Filtering(4, 4)),
}
_GAIN = 0.03  # what a choice must save to be worth recording: medians of one machine differ by less
_ROUNDS, _CONFIRMING_ROUNDS = 7, 25


class Trial(Protocol):
    """A compiled kernel: its error as ALLOWED_ERROR has it, and the seconds one more call takes."""

    @property
    def error(self) -> float: ...

    def seconds(self) -> float: ...


@dataclass(frozen=True)
class TuningResult:
    """rule, choice: by the rules, and what is faster (None: nothing is); before, after: seconds of one call
    of either, from the same rounds; wrong: choices that were tried and refused for their error."""

    layer: TunedLayer
    rule: ConvChoice
    choice: ConvChoice | None
    before: float
    after: float
    wrong: tuple[ConvChoice, ...]


def search(
    layers: Iterable[TunedLayer],
    prepare: Callable[[TunedLayer, ConvChoice], Trial],
    seconds: float,
    clock: Callable[[], float],
) -> Iterator[TuningResult]:
    """The outcome of one layer after another; none is begun once the time is over."""
    end = clock() + seconds
    for layer in layers:
        if clock() >= end:
            return
        yield _tuned(layer, prepare)


def _tuned(layer: TunedLayer, prepare: Callable[[TunedLayer, ConvChoice], Trial]) -> TuningResult:
    rule = _complete(layer, None)
    trials = {rule: prepare(layer, rule)}
    wrong: list[ConvChoice] = []
    precision = plan_of(layer.call).operand.name

    def best(choices: Iterable[ConvChoice]) -> ConvChoice:
        for choice in choices:
            if choice in trials or choice in wrong or not _possible(layer, choice):
                continue
            trial = prepare(layer, choice)
            if trial.error <= ALLOWED_ERROR[precision]:  # not so for NaN
                trials[choice] = trial
            else:
                wrong.append(choice)
        medians = _medians(list(trials.values()), _ROUNDS)
        return min(zip(medians, trials, strict=True), key=lambda pair: pair[0])[1]

    plan = plan_of(layer.call)
    found = best(_complete(layer, f) for f in _FILTERINGS[precision] if plan.allows(f))
    tiles = found.tiles or 1
    found = best(replace(found, tiles=n) for n in (max(tiles // 2, 1), 2 * tiles))
    if found == rule:
        (before,) = _medians([trials[rule]], _CONFIRMING_ROUNDS)
        return TuningResult(layer, rule, None, before, before, tuple(wrong))
    before, after = _medians([trials[rule], trials[found]], _CONFIRMING_ROUNDS)
    if after > before * (1 - _GAIN):
        return TuningResult(layer, rule, None, before, before, tuple(wrong))
    return TuningResult(layer, rule, found, before, after, tuple(wrong))


def _complete(layer: TunedLayer, filtering: Filtering | None) -> ConvChoice:
    """A filtering, None the rule's, with the tiles that the rule has for it."""
    choice = ConvChoice(filtering.outputs, filtering.taps) if filtering is not None else None
    plan = plan_of(replace(layer.call, choice=choice))
    return ConvChoice(plan.filtering.outputs, plan.filtering.taps, plan.tiles)


def _possible(layer: TunedLayer, choice: ConvChoice) -> bool:
    """Whether the layer can still leave behind the moments that the next one wants."""
    call = replace(layer.call, choice=choice)
    return call.moments is None or registry()["conv1d"].kernel_for(call.features).can_emit_moments(call)


def _medians(trials: Sequence[Trial], rounds: int) -> list[float]:
    """Seconds of a call, all trials taking turns, so that a machine that changes its pace does so for all."""
    for trial in trials:
        trial.seconds()  # fills caches
    times = [[trial.seconds() for trial in trials] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*times, strict=True)]
