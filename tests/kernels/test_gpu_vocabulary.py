"""The GPU kernel builder, executed from each language's text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import tirx

from kokoro_tvm.kernels.base import math
from kokoro_tvm.kernels.base.expressions import const
from kokoro_tvm.kernels.gpu.kernel import GpuKernel as Writer

from .on_gpu import AS_CPP, GPUS, GpuKernel

pytestmark = AS_CPP

kinds = pytest.mark.parametrize("kind", GPUS)
N = 150  # two workgroups and a part of one


def vectors() -> Any:
    """Build y = 2 x + h, four at a time, through shared memory; z is the first of them, in float16."""
    with Writer("vectors", GPUS["cuda"].features) as k:
        x, h = k.param("x", ("n", 4)), k.param("h", ("n", 4), "float16")
        y, z = k.param("y", ("n", 4)), k.param("z", ("n",), "float16")
        n = x.shape[0]
        with k.launch(64, (n + 63) // 64) as (thread, block):
            shared = k.shared(256)
            row = k.let(block * 64 + thread)
            with k.when(row < n):
                halves = tirx.Cast("float32x4", k.load(h, row, 0, lanes=4))
                value = k.load(x, row, 0, lanes=4) * const(2.0, "float32x4") + halves
                k.store(shared, value, thread * 4, lanes=4)
            k.barrier()
            with k.when(row < n):
                k.store(y, k.load(shared, thread * 4, lanes=4), row, 0, lanes=4)
                k.store(z, tirx.Cast("float16", shared[thread * 4]), row)
    return k.build()


def sines(own: bool) -> Any:
    with Writer("sines", GPUS["cuda"].features) as k:
        x, y = k.param("x", ("n",)), k.param("y", ("n",))
        n = x.shape[0]
        with k.launch(64, (n + 63) // 64) as (thread, block):
            at = k.let(block * 64 + thread)
            with k.when(at < n):
                value = k.let(x[at])
                k.store(y, math.sin(k, value) if own else tvm.tirx.sin(value), at)
    return k.build()


@kinds
def test_gpu_supports_vectors_and_float16(kind: str) -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((N, 4)).astype(np.float32)
    h = random.standard_normal((N, 4)).astype(np.float16)
    y, z = np.full((N, 4), np.nan, np.float32), np.full(N, np.nan, np.float16)
    GpuKernel(GPUS[kind], vectors())(x, h, y, z)
    assert np.allclose(y, 2 * x + h.astype(np.float32), rtol=1e-6)
    assert np.array_equal(z, y[:, 0].astype(np.float16))


@kinds
def test_sine_is_more_exact_than_hardware(kind: str) -> None:
    x = np.linspace(-30, 30, N, dtype=np.float32)
    own, theirs = np.zeros(N, np.float32), np.zeros(N, np.float32)
    GpuKernel(GPUS[kind], sines(own=True))(x, own)
    GpuKernel(GPUS[kind], sines(own=False))(x, theirs)
    want = np.sin(x.astype(np.float64))
    assert np.abs(own - want).max() < 3e-7
    if kind != "webgpu":  # whose driver may be more exact than it must be
        assert np.abs(theirs - want).max() > 2e-4
