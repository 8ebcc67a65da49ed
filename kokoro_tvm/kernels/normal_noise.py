"""Noise of the harmonic source, drawn from a seed: the same bits as `kokoro_tvm.common.noise.draw_noise`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from kokoro_tvm.common.noise import Words, block, draw_noise
from kokoro_tvm.kernels.base.expressions import Cast, ceildiv, const, iota, minimum, select
from kokoro_tvm.kernels.base.math import dtype
from kokoro_tvm.kernels.base.semantic import OpCall, OpImplementation, Shape, semantic_op
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.gpu.kernel import GpuKernel


def _infer_shape(*, f0: Shape, upsample: int, **_: Any) -> Shape:
    return (1, f0[1] * upsample)


_BLOCKS = 1024  # blocks of four samples that a task draws


class _VectorWords:
    """`Words` on vectors of a CPU kernel, computed in 64 bits if 32 may overflow."""

    def __init__(self, k: CpuKernel, lanes: int) -> None:
        self._k = k
        self._lanes = lanes

    def let(self, value: Any) -> Any:
        """Keep a value in registers; TVM's simplifier would follow a variable, see `BaseKernel.opaque`."""
        register = self._k.registers(self._lanes, "uint32")
        self._k.store(register, value, 0, lanes=self._lanes)
        return self._k.load(register, 0, lanes=self._lanes)

    def const(self, value: int) -> Any:
        return const(value, dtype(self._lanes, "uint32"))

    def add(self, a: Any, b: Any) -> Any:
        return self._word(self._wide(a) + self._wide(b))

    def low(self, a: Any, b: Any) -> Any:
        return self._word(self._wide(a) * self._wide(b))

    def high(self, a: Any, b: Any) -> Any:
        return self._word(self._wide(a) * self._wide(b) >> const(32, dtype(self._lanes, "uint64")))

    def _wide(self, word: Any) -> Any:
        """Widen words to 64 bits."""
        return Cast(dtype(self._lanes, "uint64"), word)

    def _word(self, value: Any) -> Any:
        """Narrow to 32 bits, modulo 2**32."""
        return Cast(dtype(self._lanes, "uint32"), value)

    def select(self, condition: Any, yes: Any, no: Any) -> Any:
        return select(condition, yes, no)

    def real(self, word: Any) -> Any:
        return Cast(dtype(self._lanes), Cast(dtype(self._lanes, "int32"), word))

    def scale(self, value: float) -> Any:
        return const(value, dtype(self._lanes))


def _build_cpu_kernel(call: OpCall) -> Any:
    lanes, upsample = call.features.lanes, call.get_int("upsample")
    k = CpuKernel("normal_noise", lanes)
    with k:
        f0, seed = k.param("f0", call.shapes["f0"]), k.param("seed", (3,), "uint32")
        y = k.param("y", call.result)
        samples = k.let(k.index(f0.shape[1]) * upsample)
        blocks = k.let(ceildiv(samples, 4))

        def draw(first: Any, width: int) -> list[Any]:
            """Draw the four vectors of `width` blocks."""
            words: Words = _VectorWords(k, width)
            place = k.broadcast(Cast("uint32", first), width)
            if width > 1:
                place = place + Cast(dtype(width, "uint32"), iota(width))
            low, high, piece = (k.broadcast(seed[i], width) for i in range(3))
            return block(words, words.let(place), piece, words.const(0), (low, high))

        def draw_blocks(first: Any, width: int) -> None:
            """Draw `width` blocks from `first` on and store their samples in order."""
            interleaved = k.registers(4 * width)
            for j, vector in enumerate(draw(first, width)):
                k.store(interleaved, vector, j * width, lanes=width)
            for lane in range(width):
                for j in range(4):
                    k.store(y, interleaved[j * width + lane], 0, 4 * (first + lane) + j)

        with k.parallel(ceildiv(blocks, _BLOCKS)) as task:
            start = k.let(task * _BLOCKS)
            count = k.let(minimum(const(_BLOCKS, "int64"), samples // 4 - start))
            k.vectorize(count, lambda i, width: draw_blocks(k.let(start + i), width))
            with k.when(
                start + count < minimum(start + _BLOCKS, blocks)
            ):  # the last block, of fewer than four samples
                for j, number in enumerate(draw(k.let(samples // 4), 1)):
                    with k.when(samples // 4 * 4 + j < samples):
                        k.store(y, number, 0, samples // 4 * 4 + j)
    return k.build()


def _high(word: Any) -> Any:
    """Return the upper half of a word."""
    return word >> tirx.const(16, "uint32")


def _low(word: Any) -> Any:
    """Return the lower half of a word."""
    return word & tirx.const(0xFFFF, "uint32")


class _ScalarWords:
    """`Words` on GPUs: sums and products by 16-bit halves, without 64 bits."""

    def let(self, value: Any) -> Any:
        """Keep a value in local memory; TVM's simplifier would follow a variable, see `BaseKernel.opaque`."""
        buffer = T.alloc_buffer((1,), "uint32", scope="local")
        T.buffer_store(buffer, value, [0])
        return buffer[0]

    def const(self, value: int) -> Any:
        return tirx.const(value, "uint32")

    def add(self, a: Any, b: Any) -> Any:
        low = self.let(_low(a) + _low(b))
        return (_high(a) + _high(b) + _high(low)) << self.const(16) | _low(low)

    def low(self, a: Any, b: Any) -> Any:
        a, b = self.let(a), self.let(b)
        low = self.let(_low(a) * _low(b))
        high = _high(low) + _low(_high(a) * _low(b)) + _low(_low(a) * _high(b))
        return high << self.const(16) | _low(low)

    def high(self, a: Any, b: Any) -> Any:
        a, b = self.let(a), self.let(b)
        middle = self.let(_high(a) * _low(b) + _high(_low(a) * _low(b)))
        upper = self.let(_low(a) * _high(b) + _low(middle))
        return _high(a) * _high(b) + _high(middle) + _high(upper)

    def select(self, condition: Any, yes: Any, no: Any) -> Any:
        return tirx.Select(condition, yes, no)

    def real(self, word: Any) -> Any:
        return tirx.Cast("float32", word)

    def scale(self, value: float) -> Any:
        return const(value, "float32")


_GPU_THREADS = 64


def _build_gpu_kernel(call: OpCall) -> Any:
    """Build the GPU kernel; a thread draws a block of four samples."""
    upsample = call.get_int("upsample")
    k = GpuKernel("normal_noise", call.features)
    with k:
        f0, seed = k.param("f0", call.shapes["f0"]), k.param("seed", (3,), "uint32")
        y = k.param("y", call.result)
        samples = k.index(f0.shape[1]) * upsample
        with k.launch(_GPU_THREADS, ceildiv(samples, 4 * _GPU_THREADS)) as (thread, group):
            place, words = k.let(group * _GPU_THREADS + thread), _ScalarWords()
            counter, key = words.let(Cast("uint32", place)), (words.let(seed[0]), words.let(seed[1]))
            draw = block(words, counter, words.let(seed[2]), words.const(0), key)
            for j, number in enumerate(draw):
                with k.when(4 * place + j < samples):
                    k.store(y, number, 0, 4 * place + j)
    return k.build()


@semantic_op(_infer_shape, cpu=OpImplementation(_build_cpu_kernel), gpu=OpImplementation(_build_gpu_kernel))
def normal_noise(f0: Tensor, seed: Tensor, *, upsample: int) -> Tensor:
    """Draw the noise of every sample of f0 (1, N), whose values do not matter.

    Args:
        f0: (1, N).
        seed: uint32 (3,), see `kokoro_tvm.runtime.session.noise.seed_words`.
        upsample: Samples of a step.

    Returns:
        float32 (1, N*upsample).
    """
    low, high, piece = (int(word) for word in seed.numpy().astype(np.uint32))
    return torch.from_numpy(draw_noise(low | high << 32, f0.shape[1] * upsample, piece))[None].to(f0.dtype)
