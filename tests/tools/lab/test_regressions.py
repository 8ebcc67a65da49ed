"""Kernels of two bundles beside one another: paired by their work, judged by median and minimum."""

from __future__ import annotations

import dataclasses

import pytest

from kokoro_tvm.runtime.session.profiler import Call, Kernel
from kokoro_tvm.tools.lab.regressions import KernelGroup, compare, seconds_by_kind

CONV = KernelGroup("decoder", "conv1d", 1000.0)
LSTM = KernelGroup("f0n", "lstm", 0.0)


def call(name: str, seconds: float, component: str = "decoder") -> Call:
    return Call(component, f"{component}_{name}", 0.0, seconds, 8, 10)


def test_kernels_are_paired_by_their_work() -> None:
    """Another build gives them other numbers."""
    calls = [call("conv1d_4", 0.25), call("conv1d_4", 0.25), call("conv1d_9", 0.5), call("sum_3", 0.125)]
    kernels = {("decoder", f"decoder_conv1d_{n}"): Kernel("conv1d", 1000.0) for n in (4, 9)}
    found = seconds_by_kind(calls, kernels)
    assert found == {CONV: 1.0, KernelGroup("decoder", "sum", 0.0): 0.125}


@pytest.mark.parametrize(
    ("before", "now", "slower"),
    [
        ((1.0, 1.0, 1.0), (1.1, 1.1, 1.1), True),
        ((1.0, 1.0, 1.0), (1.04, 1.04, 1.04), False),
        ((1.0, 1.0, 1.0), (1.0, 3.0, 3.0), False),  # disturbed: the minimum is as before
        ((1.0, 2.0, 2.0), (1.5, 1.5, 1.5), False),  # disturbed before: the median is not slower
        ((1.0, 1.0, 1.0), (0.5, 0.5, 0.5), False),
    ],
)
def test_slower_is_what_median_and_minimum_agree_on(
    before: tuple[float, ...], now: tuple[float, ...], slower: bool
) -> None:
    found = compare([{CONV: s} for s in before], [{CONV: s} for s in now])
    assert [each.slower for each in found.kernels] == [slower]
    assert found.alone == ()


def test_the_longest_come_first_and_those_alone_are_named() -> None:
    before = [{CONV: 1.0, LSTM: 2.0, KernelGroup("bert", "gelu", 0.0): 1.0}]
    now = [
        {
            CONV: 3.0,
            LSTM: 2.0,
            KernelGroup("bert", "softmax", 0.0): 5.0,
            KernelGroup("bert", "tiny", 0.0): 1e-3,
        }
    ]
    found = compare(before, now)
    assert [each.kind for each in found.kernels] == [CONV, LSTM]
    assert [each.share for each in found.kernels] == pytest.approx([0.3, 0.2], abs=1e-3)
    assert [kind.operation for kind in found.alone] == ["gelu", "softmax", "tiny"]


def test_what_takes_less_than_a_hundredth_is_not_judged() -> None:
    tiny = dataclasses.replace(CONV, operation="tiny")
    found = compare([{CONV: 1.0, tiny: 1e-4}], [{CONV: 1.0, tiny: 9e-3}])
    assert [each.kind for each in found.kernels] == [CONV]
