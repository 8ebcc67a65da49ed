"""The GPU kernel builder, in every language that TVM prints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kokoro_tvm.common.features import Features, Workgroup
from kokoro_tvm.kernels.base.expressions import const
from kokoro_tvm.kernels.gpu.fold import ChannelReduction, sum_pairwise
from kokoro_tvm.kernels.gpu.fourier import hann, sine_of_fraction
from kokoro_tvm.kernels.gpu.kernel import GpuKernel
from kokoro_tvm.targets import Machine

from .on_gpu import AS_CPP, GPUS, RACES, on_gpu

kinds = pytest.mark.parametrize(
    "machine",
    [
        pytest.param(m, id=kind, marks=pytest.mark.nightly if kind != "metal" else AS_CPP)
        for kind, m in GPUS.items()
    ],
)


def run(k: GpuKernel, machine: Machine, *arrays: np.ndarray) -> None:
    kernel = on_gpu(machine, k.build())
    assert kernel is not None
    kernel(*arrays)


@kinds
def test_gpu_kernel_constants_are_exact(machine: Machine) -> None:
    """Use constants that the seven digits of TVM's Metal and WGSL do not identify."""
    rng = np.random.default_rng(1)
    values = (rng.uniform(-10, 10, 50) * 10.0 ** rng.integers(-30, 30, 50)).astype(np.float32)
    assert sum(np.float32(f"{value:e}") != value for value in values) >= 20
    k = GpuKernel("constants", machine.features)
    with k:
        y = k.param("y", (len(values),))
        with k.launch(1, 1):
            for i, value in enumerate(values):
                k.store(y, k.real(float(value)), i)
    actual = np.full(len(values), np.nan, np.float32)
    run(k, machine, actual)
    assert actual.tobytes() == values.tobytes()


@kinds
def test_channel_reduction_sums_rows(machine: Machine) -> None:
    """Sum 16 rows of 16 channels of which some do not exist; those must write nothing."""
    x = np.arange(16 * 21, dtype=np.float32).reshape(16, 21)
    k = GpuKernel("rows", machine.features)
    with k:
        values, y = k.param("x", (16, 21)), k.param("y", (21,))
        with k.launch(256, ChannelReduction.groups(21, 16)) as (thread, group):
            columns = ChannelReduction.of(k, 16, 16, thread, group, 21)
            (total,) = columns.totals(values[columns.row, columns.channel])
            with k.when(columns.first):
                k.store(y, total, columns.channel)
    actual = np.full(21, np.nan, np.float32)
    run(k, machine, x, actual)
    assert np.array_equal(actual, x.sum(0))


@kinds
@pytest.mark.parametrize("size", [4, 8, 20, 24])
def test_sine_of_fraction_is_exact(size: int, machine: Machine) -> None:
    """Expect exact zeros, and two halves of a turn that are symmetrical to the last bit."""
    k = GpuKernel("sines", machine.features)
    with k:
        y = k.param("y", (2, size))
        with k.launch(size, 1) as (thread, _):
            k.store(y, sine_of_fraction(k, thread, size), 0, thread)
            k.store(y, hann(k, thread, size), 1, thread)
    actual = np.full((2, size), np.nan, np.float32)
    run(k, machine, actual)
    turns = np.arange(size) / size
    assert np.abs(actual[0] - np.sin(2 * np.pi * turns)).max() <= 3e-7
    assert np.abs(actual[1] - np.sin(np.pi * turns) ** 2).max() <= 4e-7
    assert not actual[0, [0, size // 2]].any()
    assert np.array_equal(actual[0, 1:], -actual[0, :0:-1])
    assert np.array_equal(actual[1, 1:], actual[1, :0:-1])


def test_gpu_kernel_rejects_exceeded_limits() -> None:
    features = Features(1, 0, "float32", "gpu", workgroup=Workgroup(64, 1024))

    def launch(body: Any) -> None:
        k = GpuKernel("large", features)
        with k:
            body(k)

    def launched(k: GpuKernel) -> None:
        with k.launch(65, 1):
            pass

    with pytest.raises(ValueError, match="65 threads, a workgroup has at most 64"):
        launch(launched)
    with pytest.raises(ValueError, match="1028 bytes of shared memory, a workgroup has at most 1024"):
        launch(lambda k: k.shared(257))
    with pytest.raises(ValueError, match="129 elements do not fit registers"):
        launch(lambda k: k.registers(129))
    with pytest.raises(ValueError, match="a GPU kernel needs a machine with workgroups"):
        GpuKernel("none", Features(8, 16))


def test_sum_pairwise_adds_in_pairs() -> None:
    """Add any number of values."""
    for count in range(1, 20):
        assert sum_pairwise(list(range(count))) == sum(range(count))


@AS_CPP
@pytest.mark.parametrize("machine", [GPUS["cuda"], RACES], ids=["cuda", "watched"])
def test_multiply_matrices_uses_tvm_layout(machine: Machine) -> None:
    """Compare the instruction's elements by lane with TVM's map of 16 by 16 elements."""
    # The second matrix is held transposed, and has half as many.
    # TVM parses all its intrinsics for this, which takes longer than collecting all tests.
    from tvm.s_tir.tensor_intrin.cuda import ldmatrix_32x8_to_shared_16x16_layout

    rng = np.random.default_rng(1)
    first, second = (rng.integers(-8, 9, shape).astype(np.float16) for shape in ((16, 16), (16, 8)))
    places = [[ldmatrix_32x8_to_shared_16x16_layout(lane, i) for i in range(8)] for lane in range(32)]
    a = np.array([[first[place] for place in held] for held in places])
    b = np.array([[second.T[place] for place in held if place[0] < 8] for held in places])
    k = GpuKernel("matrices", machine.features)
    with k:
        given_a, given_b = k.param("a", (32, 4), "int32"), k.param("b", (32, 2), "int32")
        y = k.param("y", (32, 4))
        with k.launch(32, 1) as (lane, _):
            of_a, of_b, sums = k.registers(4, "int32"), k.registers(2, "int32"), k.registers(4)
            for i in range(4):
                k.store(of_a, given_a[lane, i], i)
                k.store(sums, const(1.0, "float32"), i)
            for i in range(2):
                k.store(of_b, given_b[lane, i], i)
            k.multiply_matrices(sums, 0, of_a, of_b, 0)
            for i in range(4):
                k.store(y, sums[i], lane, i)
    actual = np.full((32, 4), np.nan, np.float32)
    run(k, machine, a.view(np.int32), b.view(np.int32), actual)
    want = first.astype(np.float32) @ second.astype(np.float32) + 1
    assert actual.tolist() == [[want[place] for place in held if place[1] < 8] for held in places]
