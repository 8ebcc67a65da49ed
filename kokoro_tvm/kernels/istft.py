"""Inverse STFT at the generator's head: log magnitudes and phase sines become a waveform."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from kokoro_tvm.kernels.base.expressions import (
    Cast,
    ceildiv,
    const,
    iota,
    logical_and,
    maximum,
    minimum,
    select,
)
from kokoro_tvm.kernels.base.fourier import hann, inverse_basis
from kokoro_tvm.kernels.base.math import cos_unit, dtype, exp, sin, sin_unit
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
    return (1, (x[1] - 1) * hop)


_BLOCK = 256  # hops a task computes


def _build_cpu_kernel(call: OpCall) -> Any:
    lanes, n_fft, hop = call.features.lanes, call.get_int("n_fft"), call.get_int("hop")
    bins, half, overlap = n_fft // 2 + 1, n_fft // 2, n_fft // hop
    if n_fft % hop or half % hop:
        raise NotImplementedError("istft: the hop must divide half the window")
    window, (cosines, sines) = hann(n_fft), inverse_basis(n_fft)
    k = CpuKernel("istft", lanes)
    with k:
        x = k.param("x", call.shapes["x"])
        y, valid_steps = call.declare_result(k, x)
        frames = k.let(valid_steps, "frames")
        pitch = ceildiv(_BLOCK + overlap - 1, lanes) * lanes
        basis = k.table(np.concatenate([cosines, sines[1:-1]]).T)  # at DC and Nyquist there are no sines
        with k.parallel((frames - 1 + (_BLOCK - 1)) // _BLOCK) as block:
            start = k.let(block * _BLOCK)  # first hop of the result
            hops = k.let(minimum(const(_BLOCK, "int64"), frames - 1 - start))
            # Hop a of the result is hop a + half/hop of the padded signal, which overlaps frames from
            # a + half/hop - overlap + 1 on.
            first = k.let(start + (half // hop - overlap + 1))
            pieces = k.scratch(n_fft * pitch)
            bands = k.scratch(2 * bins * pitch)  # the block's frames, a row for each magnitude and phase
            vectors = k.let(ceildiv(hops + (overlap - 1), lanes))
            with k.loop(vectors * lanes) as m:
                at = k.let(maximum(minimum(first + m, frames - 1), const(0, "int64")))
                with k.loop(2 * bins) as b:
                    k.store(bands, x[0, at, b], b * pitch + m)

            with k.loop(vectors) as v:
                m = k.let(v * lanes)
                frame = k.let(k.broadcast(Cast("int32", first + m), lanes) + iota(lanes))
                zero = const(0.0, dtype(lanes))

                def valid_steps(magnitude: Any) -> Any:
                    """Zero before the first frame and behind the last."""
                    before_end = frame < k.broadcast(Cast("int32", frames), lanes)
                    from_start = frame >= const(0, dtype(lanes, "int32"))
                    return select(from_start, select(before_end, magnitude, zero), zero)

                real, imaginary = [], []
                for b in range(bins):
                    magnitude = k.opaque(valid_steps(exp(k, k.load(bands, b * pitch + m, lanes=lanes))))
                    phase = k.opaque(sin(k, k.load(bands, (bins + b) * pitch + m, lanes=lanes)))
                    real.append(k.opaque(magnitude * cos_unit(k, phase)))
                    imaginary.append(k.opaque(magnitude * sin_unit(k, phase)))
                parts = [*real, *imaginary[1:-1]]
                with k.loop(n_fft) as i:
                    total = zero
                    for p, part in enumerate(parts):
                        total = total + part * k.broadcast(basis[i * len(parts) + p], lanes)
                    k.store(pieces, total, i * pitch + m, lanes=lanes)

            with k.loop(hops) as a:
                for j in range(hop):
                    total, weight = const(0.0, "float32"), const(0.0, "float32")
                    for s in range(overlap):  # the frame that started s hops ago
                        i, m = s * hop + j, a + (overlap - 1 - s)
                        total = total + pieces[i * pitch + m]
                        present = logical_and(first + m >= 0, first + m < frames)
                        square = const(float(window[i] ** 2), "float32")
                        weight = weight + select(present, square, const(0.0, "float32"))
                    k.store(y, total / weight, 0, (start + a) * hop + j)
    return k.build()


_GPU_THREADS, _GPU_HOPS = 128, 64  # of a workgroup


def _build_gpu_kernel(call: OpCall) -> Any:
    """Build the GPU kernel; a workgroup computes some hops from the spectra of all frames they overlap.

    Raises NotImplementedError if the hop does not divide half the window.
    """
    n_fft, hop = call.get_int("n_fft"), call.get_int("hop")
    bins, half, overlap = n_fft // 2 + 1, n_fft // 2, n_fft // hop
    if n_fft % hop or half % hop:
        raise NotImplementedError("istft: the hop must divide half the window")
    max_frames = _GPU_HOPS + overlap - 1  # frames
    zero = const(0.0, "float32")
    k = GpuKernel("istft", call.features)
    with k:
        x = k.param("x", call.shapes["x"])
        y, valid_steps = call.declare_result(k, x)
        with k.launch(_GPU_THREADS, ceildiv(k.index(x.shape[1]) - 1, _GPU_HOPS)) as (thread, group):
            frames, start = k.let(valid_steps), k.let(group * _GPU_HOPS)
            first = k.let(start + (half // hop - overlap + 1))  # frame that reaches the first hop
            cosines, sines = build_bases(k, n_fft, thread, _GPU_THREADS, 2 / n_fft)
            real, imaginary = k.shared(max_frames * bins), k.shared(max_frames * bins)
            with k.strided_loop(max_frames * bins, thread, _GPU_THREADS) as number:
                frame, b = k.let(first + number // bins), k.let(number % bins)
                k.store(real, zero, number)
                k.store(imaginary, zero, number)
                with k.when(logical_and(frame >= 0, frame < frames)):
                    # DC and Nyquist count once, all others for a bin on either side.
                    once = const(0.5, "float32"), const(1.0, "float32")
                    weight = select(b * (b - half) == 0, *once)
                    magnitude = k.let(exp(k, k.let(x[0, frame, b])) * weight)
                    phase = k.let(sin(k, k.let(x[0, frame, bins + b])))
                    k.store(real, magnitude * cos_unit(k, phase), number)
                    k.store(imaginary, magnitude * sin_unit(k, phase), number)
            k.barrier()
            with k.strided_loop(_GPU_HOPS * hop, thread, _GPU_THREADS) as number:
                a, j = k.let(number // hop), k.let(number % hop)
                total, weight = k.registers(1), k.registers(1)
                k.store(total, zero, 0)
                k.store(weight, zero, 0)
                for s in range(overlap):  # the frame that started s hops ago
                    i, frame = k.let(s * hop + j), k.let(a + (overlap - 1 - s))
                    with k.loop(bins) as b:
                        at, basis = k.let(frame * bins + b), k.let(b * n_fft + i)
                        part = real[at] * cosines[basis] + imaginary[at] * sines[basis]
                        k.accumulate(total, part, 0)
                    with k.when(logical_and(first + frame >= 0, first + frame < frames)):
                        window = k.let(cosines[i] * k.real(n_fft / 2))  # the basis of bin 0 is the window
                        k.accumulate(weight, window * window, 0)
                with k.when(start + a < frames - 1):
                    k.store(y, total[0] / weight[0], 0, (start + a) * hop + j)
    return k.build()


@semantic_op(_infer_shape, cpu=OpImplementation(_build_cpu_kernel), gpu=OpImplementation(_build_gpu_kernel))
def istft(x: Tensor, length: Tensor | None = None, *, n_fft: int, hop: int) -> Tensor:
    """Compute the inverse STFT of exp(x[..., :bins]) * e^(i sin(x[..., bins:])), bins = n_fft/2 + 1.

    Hann window, centred; the overlap-add is divided by the overlap-added square of the window, which is
    smaller at both ends.

    Args:
        x: (1, M, 2*bins).
        length: int64 (1,), valid frames of x.
        n_fft: Size of the transform and the window.
        hop: Samples between frames.

    Returns:
        (1, (M - 1)*hop).
    """
    bins = n_fft // 2 + 1
    y = crop_valid(x, length).transpose(1, 2)
    window = torch.hann_window(n_fft, periodic=True, dtype=x.dtype)
    spectrum = torch.polar(torch.exp(y[:, :bins]), torch.sin(y[:, bins:]))
    audio = torch.istft(spectrum, n_fft, hop, window=window)
    return pad_steps(audio, (x.shape[1] - 1) * hop)
