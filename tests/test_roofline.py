"""The least time of launches by a GPU's figures."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tvm
from kernel_work import Work, work_of
from roofline import Gpu, Launch

from kokoro_tvm.common.features import Features, Workgroup
from kokoro_tvm.kernels.base.expressions import const
from kokoro_tvm.kernels.gpu.kernel import GpuKernel

FIGURES = Gpu("made up", tflops=10, gb_per_s=1000, cores=100, launch_us=2)
WORK = Work(instructions=5 * 10**8, matrices=0, words=10**8, groups=1000)
LAUNCH = Launch("conv1d", flops=10**9, bytes=10**6, work=WORK)


def test_what_takes_longer_bounds_a_launch() -> None:
    assert LAUNCH.seconds(FIGURES) == pytest.approx(100e-6 + 2e-6)
    moved = replace(LAUNCH, bytes=10**9)
    assert moved.seconds(FIGURES) == pytest.approx(1e-3 + 2e-6)
    assert replace(LAUNCH, work=None, bytes=0).seconds(FIGURES) == pytest.approx(2e-6)
    assert LAUNCH.seconds(replace(FIGURES, per_word=10)) == pytest.approx(200e-6 + 2e-6)
    multiplied = replace(LAUNCH, work=replace(WORK, matrices=4 * 10**9))
    assert multiplied.seconds(replace(FIGURES, per_matrix=8)) == pytest.approx(200e-6 + 2e-6)


def test_few_workgroups_reach_few_cores() -> None:
    assert replace(LAUNCH, work=replace(WORK, groups=10)).seconds(FIGURES) == pytest.approx(1e-3 + 2e-6)
    assert replace(LAUNCH, work=replace(WORK, groups=100)).seconds(FIGURES) == LAUNCH.seconds(FIGURES)


def test_multiplications_of_matrices_are_counted_apart() -> None:
    k = GpuKernel("counted", Features(1, 0, kernels="gpu", matrices=True, workgroup=Workgroup(256, 16384)))
    with k:
        y = k.param("y", ("n",))
        with k.launch(32, y.shape[0]) as (_, group):
            sums, a, b = k.registers(4), k.registers(4, "int32"), k.registers(2, "int32")
            with k.loop(3):
                k.multiply_matrices(sums, 0, a, b, 0)
            k.store(y, sums[0], group)
    analyzer = tvm.sym.Analyzer()
    function = k.build()
    (extent,) = function.params[0].ty.shape
    analyzer.bind(extent, tvm.tirx.const(7, "int32"))
    assert work_of(function, analyzer, 0) == Work(0, 7 * 3 * 16 * 16 * 8, 0, 7)


def test_a_kernel_s_instructions_are_counted_in_its_text() -> None:
    k = GpuKernel("counted", Features(1, 0, kernels="gpu", workgroup=Workgroup(256, 16384)))
    with k:
        x, y = k.param("x", ("n",)), k.param("y", ("n",))
        turns = k.param("turns", (1,), "int32")
        with k.launch(32, x.shape[0]) as (thread, group):
            held = k.shared(32)
            with k.loop(10):
                k.store(held, x[group] * const(2.5, "float32") + const(1.0, "float32"), thread)
            k.barrier()
            with k.loop(turns[0]):
                k.store(y, held[thread] / x[group] - x[group], group)
    analyzer = tvm.sym.Analyzer()
    function = k.build()
    (extent,) = function.params[0].ty.shape
    analyzer.bind(extent, tvm.tirx.const(7, "int32"))
    assert work_of(function, analyzer, 10**9) == Work(10**9, 0, 7 * 32 * (10 + 3), 7)
    counted = work_of(function, analyzer, 0)
    assert counted is not None
    assert counted.instructions == 7 * 32 * (10 + 8 + 1)
