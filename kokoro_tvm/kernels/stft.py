"""Short-time Fourier transform of the excitation: magnitudes and phases, as the stock model takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from kokoro_tvm.kernels.base.expressions import ceildiv, const, maximum, minimum, select, sqrt
from kokoro_tvm.kernels.base.fourier import forward_basis
from kokoro_tvm.kernels.base.math import atan2, dtype
from kokoro_tvm.kernels.base.semantic import (
    OpCall,
    OpImplementation,
    Shape,
    crop_valid,
    pad_steps,
    semantic_op,
)
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.gpu.fourier import build_bases
from kokoro_tvm.kernels.gpu.kernel import GpuKernel


def _infer_shape(*, x: Shape, n_fft: int, hop: int, **_: Any) -> Shape:
    return (1, x[1] // hop + 1, n_fft + 2)


_BLOCK = 256  # frames a task computes


def _build_cpu_kernel(call: OpCall) -> Any:
    lanes, n_fft, hop = call.features.lanes, call.get_int("n_fft"), call.get_int("hop")
    bins, half = n_fft // 2 + 1, n_fft // 2
    cosines, sines = forward_basis(n_fft)
    shifts = -(-n_fft // hop)  # hops a window spans
    k = CpuKernel("stft", lanes)
    with k:
        x = k.param("x", call.shapes["x"])
        y, valid_steps = call.declare_result(k, x)
        samples = k.let(valid_steps, "samples")
        frames = k.let(samples // hop + 1, "frames")
        # Sines at DC and Nyquist are zero, so the imaginary parts are +0.
        basis = k.table(np.concatenate([cosines, sines]))
        pitch = (-(-(_BLOCK + shifts) // lanes)) * lanes + lanes
        with k.parallel((frames + (_BLOCK - 1)) // _BLOCK) as block:
            start = k.let(block * _BLOCK)
            count = k.let(minimum(const(_BLOCK, "int64"), frames - start))
            # Sample j of every hop in a row of its own, so that neighbouring frames are neighbours in memory.
            rows = k.scratch(hop * pitch)
            with k.loop(hop) as j, k.loop(count + shifts) as m:
                position = k.let((start + m) * hop + j - half)
                mirrored = k.let(maximum(position, 0 - position))
                mirrored = k.let(select(mirrored >= samples, 2 * (samples - 1) - mirrored, mirrored))
                inside = k.let(maximum(minimum(mirrored, samples - 1), const(0, "int64")))
                k.store(rows, x[0, inside], j * pitch + m)

            def frame(m: Any, width: int) -> None:
                """Transform `width` frames from `m` on and store magnitudes and phases."""
                values = [
                    k.let(k.load(rows, (i % hop) * pitch + m + i // hop, lanes=width)) for i in range(n_fft)
                ]
                # Windowed cosines are even about the window's centre, sines odd; the window starts at zero.
                # So the first frame, which is mirrored there, has imaginary parts of +0, not of rounding. The
                # sample at that zero is still multiplied, because it may be NaN.
                pairs = [
                    (k.let(values[i] + values[n_fft - i]), k.let(values[i] - values[n_fft - i]))
                    for i in range(1, half)
                ]
                bands = k.registers(2 * width)
                with k.loop(bins) as b:
                    real = imaginary = const(0.0, dtype(width))
                    for i in (0, half):
                        real = real + values[i] * k.broadcast(basis[b * n_fft + i], width)
                    for i, (total, difference) in enumerate(pairs, start=1):
                        real = real + total * k.broadcast(basis[b * n_fft + i], width)
                        imaginary = imaginary + difference * k.broadcast(basis[(bins + b) * n_fft + i], width)
                    real, imaginary = k.opaque(real), k.opaque(imaginary)
                    k.store(bands, sqrt(real * real + imaginary * imaginary), 0, lanes=width)
                    k.store(bands, atan2(k, imaginary, real), width, lanes=width)
                    for lane in range(width):
                        k.store(y, bands[lane], 0, start + m + lane, b)
                        k.store(y, bands[width + lane], 0, start + m + lane, bins + b)

            k.vectorize(count, frame)
    return k.build()


_GPU_THREADS, _GPU_FRAMES = 256, 64  # of a workgroup


def _build_gpu_kernel(call: OpCall) -> Any:
    """Build the GPU kernel: a workgroup has some frames, a thread one bin of a frame at a time."""
    n_fft, hop = call.get_int("n_fft"), call.get_int("hop")
    bins, half, span = n_fft // 2 + 1, n_fft // 2, (_GPU_FRAMES - 1) * hop + n_fft
    k = GpuKernel("stft", call.features)
    with k:
        x = k.param("x", call.shapes["x"])
        y, valid_steps = call.declare_result(k, x)
        with k.launch(_GPU_THREADS, ceildiv(k.index(y.shape[1]), _GPU_FRAMES)) as (thread, group):
            samples = k.let(valid_steps)
            frames, start = k.let(samples // hop + 1), k.let(group * _GPU_FRAMES)
            cosines, sines = build_bases(k, n_fft, thread, _GPU_THREADS)
            signal = k.shared(span)
            with k.strided_loop(span, thread, _GPU_THREADS) as i:
                position = k.let(start * hop + i - half)
                mirrored = k.let(maximum(position, 0 - position))
                mirrored = k.let(select(mirrored >= samples, 2 * (samples - 1) - mirrored, mirrored))
                k.store(signal, x[0, maximum(minimum(mirrored, samples - 1), 0)], i)
            k.barrier()
            with k.strided_loop(_GPU_FRAMES * bins, thread, _GPU_THREADS) as number:
                frame, b = k.let(number // bins), k.let(number % bins)
                real, imaginary = k.registers(1), k.registers(1)
                first, middle = (signal[frame * hop + i] * cosines[b * n_fft + i] for i in (0, half))
                k.store(real, first + middle, 0)
                k.store(imaginary, const(0.0, "float32"), 0)
                # As on CPUs by pairs, so that the first frame has imaginary parts of 0.
                with k.loop(half - 1) as pair:
                    i = k.let(pair + 1)
                    early, late = (k.let(signal[frame * hop + at]) for at in (i, n_fft - i))
                    k.accumulate(real, (early + late) * cosines[b * n_fft + i], 0)
                    k.accumulate(imaginary, (early - late) * sines[b * n_fft + i], 0)
                with k.when(start + frame < frames):
                    magnitude = sqrt(real[0] * real[0] + imaginary[0] * imaginary[0])
                    k.store(y, magnitude, 0, start + frame, b)
                    k.store(y, atan2(k, imaginary[0], real[0]), 0, start + frame, bins + b)
    return k.build()


@semantic_op(_infer_shape, cpu=OpImplementation(_build_cpu_kernel), gpu=OpImplementation(_build_gpu_kernel))
def stft(x: Tensor, length: Tensor | None = None, *, n_fft: int, hop: int) -> Tensor:
    """Compute magnitudes, then phases in (-pi, pi]: Hann window, centred, reflected edges.

    The imaginary part at DC, at Nyquist and in all of the first frame, whose signal is mirrored about its
    centre, counts as +0. There the phase is 0 or +pi and never -pi, whatever the Fourier library's rounding
    gives.

    Args:
        x: (1, samples).
        length: int64 (1,), valid samples.
        n_fft: Size of the transform and the window.
        hop: Samples between frames.

    Returns:
        (1, samples/hop + 1, n_fft + 2).
    """
    window = torch.hann_window(n_fft, periodic=True, dtype=x.dtype)
    spectrum = torch.stft(crop_valid(x, length), n_fft, hop, window=window, return_complex=True)
    imaginary = spectrum.imag.clone()
    imaginary[:, [0, -1]] = 0.0
    imaginary[..., 0] = 0.0
    y = torch.cat([spectrum.abs(), torch.atan2(imaginary, spectrum.real)], dim=1)
    return pad_steps(y.transpose(1, 2), x.shape[1] // hop + 1)
