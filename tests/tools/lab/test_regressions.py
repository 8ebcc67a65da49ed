"""Kernels of two bundles: paired by their work, judged by median and minimum."""

from __future__ import annotations

import dataclasses

import pytest

from kokoro_tvm.runtime.session.profiler import Call, Kernel
from kokoro_tvm.tools.lab.regressions import KernelGroup, compare, sum_by_group

CONV = KernelGroup("decoder", "conv1d", 1000.0)
LSTM = KernelGroup("f0n", "lstm", 0.0)


def call(name: str, seconds: float, component: str = "decoder") -> Call:
    return Call(component, f"{component}_{name}", 0.0, seconds, 8, 10)


def test_sum_by_group_ignores_numbers_of_kernels() -> None:
    calls = [call("conv1d_4", 0.25), call("conv1d_4", 0.25), call("conv1d_9", 0.5), call("sum_3", 0.125)]
    kernels = {("decoder", f"decoder_conv1d_{n}"): Kernel("conv1d", 1000.0) for n in (4, 9)}
    assert sum_by_group(calls, kernels) == {CONV: 1.0, KernelGroup("decoder", "sum", 0.0): 0.125}


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
def test_slower_needs_median_and_minimum(
    before: tuple[float, ...], now: tuple[float, ...], slower: bool
) -> None:
    result = compare([{CONV: s} for s in before], [{CONV: s} for s in now])
    assert [comparison.slower for comparison in result.kernels] == [slower]
    assert result.alone == ()


def test_compare_sorts_by_time_and_lists_unpaired_groups() -> None:
    before = [{CONV: 1.0, LSTM: 2.0, KernelGroup("bert", "gelu", 0.0): 1.0}]
    now = [
        {
            CONV: 3.0,
            LSTM: 2.0,
            KernelGroup("bert", "softmax", 0.0): 5.0,
            KernelGroup("bert", "tiny", 0.0): 1e-3,
        }
    ]
    result = compare(before, now)
    assert [comparison.kind for comparison in result.kernels] == [CONV, LSTM]
    assert [comparison.share for comparison in result.kernels] == pytest.approx([0.3, 0.2], abs=1e-3)
    assert [group.operation for group in result.alone] == ["gelu", "softmax", "tiny"]


def test_compare_leaves_out_small_groups() -> None:
    tiny = dataclasses.replace(CONV, operation="tiny")
    result = compare([{CONV: 1.0, tiny: 1e-4}], [{CONV: 1.0, tiny: 9e-3}])
    assert [comparison.kind for comparison in result.kernels] == [CONV]
