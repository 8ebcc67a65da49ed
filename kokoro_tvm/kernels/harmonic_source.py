"""Excitation of the vocoder: harmonics of the pitch in voiced steps, noise in unvoiced ones."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from kokoro_tvm.kernels.base.expressions import (
    Cast,
    ceildiv,
    const,
    floor,
    iota,
    maximum,
    minimum,
    select,
    sqrt,
)
from kokoro_tvm.kernels.base.math import dtype, reduce_cycles, sin_cycles, tanh
from kokoro_tvm.kernels.base.semantic import (
    OpCall,
    OpImplementation,
    Shape,
    crop_valid,
    pad_steps,
    semantic_op,
)
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.gpu.kernel import GpuKernel
from kokoro_tvm.kernels.gpu.phases import HarmonicPhases


def _infer_shape(*, f0: Shape, upsample: int, **_: Any) -> Shape:
    return (1, f0[1] * upsample)


_BLOCK = 8  # steps of f0 a task turns into samples


def _build_cpu_kernel(call: OpCall) -> Any:
    lanes, a = call.features.lanes, call.attributes
    upsample, harmonics = int(a["upsample"]), int(call.shapes["weight"][1])
    half = upsample // 2  # the middle of a step's samples has its phase
    if upsample % 2:
        raise NotImplementedError("harmonic_source: an odd upsampling factor has no kernel")
    k = CpuKernel("harmonic_source", lanes)
    with k:
        f0, noise = k.param("f0", call.shapes["f0"]), k.param("noise", call.shapes["noise"])
        weight, bias = k.param("weight", (1, harmonics)), k.param("bias", (1,))
        y, valid_steps = call.declare_result(k, f0)
        n = k.let(valid_steps, "n")
        one = const(1.0, "float64")

        norm = k.registers(1)
        k.store(norm, const(0.0, "float32"), 0)
        with k.loop(harmonics) as h:
            k.accumulate(norm, weight[0, h] * weight[0, h], 0)
        norm = k.let(sqrt(norm[0]), "norm")

        # TVM allocates before it reads a length, so the arrays have the length of f0, not of its valid part.
        capacity = harmonics * f0.shape[1]
        cycles = k.scratch(capacity, "float64")  # phase at each step, modulo one
        increments = k.scratch(capacity, "float64")
        with k.loop(harmonics) as h:
            phase, total = k.registers(1, "float64"), const(float(upsample), "float64")
            k.store(phase, const(0.0, "float64"), 0)
            number = k.let(Cast("float64", h + 1))
            with k.loop(n) as i:
                turns = k.let(Cast("float64", f0[0, i]) * number / const(float(a["sample_rate"]), "float64"))
                increment = k.let(turns - floor(turns))
                k.store(increments, increment, h * n + i)
                following = k.let(phase[0] + total * increment)
                k.store(phase, following - floor(following), 0)
                k.store(cycles, phase[0], h * n + i)

        def sample(t: Any, at: Any, towards: Any, voiced: Any, lane_offsets: Any, width: int) -> None:
            """Compute `width` samples from t on, all between the same two steps and with one voicing."""
            excitation = k.registers(width)
            level = select(
                voiced,
                const(float(a["noise_std"]), "float32"),
                const(float(a["amplitude"]) / 3, "float32"),
            )
            hiss = k.broadcast(k.let(norm * level), width) * k.load(noise, 0, t, lanes=width)
            k.store(excitation, hiss, 0, lanes=width)
            loud = k.let(select(voiced, const(float(a["amplitude"]), "float32"), const(0.0, "float32")))
            with k.loop(harmonics) as h:
                begin = k.broadcast(cycles[h * n + at], width)
                slope = k.broadcast(increments[h * n + towards], width)
                phase = k.let(begin + lane_offsets * slope)
                phase = phase - floor(phase)
                folded = reduce_cycles(k, Cast(dtype(width), phase))
                sine = sin_cycles(k, folded)
                share = k.broadcast(k.let(weight[0, h] * loud), width)
                total = k.load(excitation, 0, lanes=width) + share * sine
                k.store(excitation, total, 0, lanes=width)
            result = tanh(k, k.load(excitation, 0, lanes=width) + k.broadcast(bias[0], width))
            k.store(y, result, 0, t, lanes=width)

        with (
            k.parallel((n + (_BLOCK - 1)) // _BLOCK) as block,
            k.loop(minimum(const(_BLOCK, "int64"), n - block * _BLOCK)) as offset,
        ):
            i = k.let(block * _BLOCK + offset)
            voiced = k.let(f0[0, i] > const(float(a["voiced_threshold"]), "float32"))
            # In the first half of a step the phase comes from the previous step, in the second half it moves
            # to the next; before the first middle and after the last one it is constant.
            for late in (False, True):
                begin = i if late else maximum(i - 1, const(0, "int64"))
                towards = minimum(i + 1, n - 1) if late else i
                moves = (i + 1 < n) if late else (i > 0)
                at, towards, rate = (
                    k.let(begin),
                    k.let(towards),
                    k.let(select(moves, one, const(0.0, "float64"))),
                )
                first = k.let(i * upsample + (half if late else 0))
                lead = 0.5 if late else half + 0.5

                def body(
                    p: Any,
                    width: int,
                    first: Any = first,
                    at: Any = at,
                    towards: Any = towards,
                    rate: Any = rate,
                    lead: float = lead,
                    voiced: Any = voiced,
                ) -> None:
                    """Compute `width` samples from sample `p` of the loop on."""
                    start = k.let(Cast("float64", p) + const(lead, "float64"))
                    steps = k.broadcast(start, width)
                    if width > 1:
                        ramp = Cast(dtype(width, "float64"), iota(width))
                        steps = steps + ramp
                    sample(
                        k.let(first + p), at, towards, voiced, k.let(steps * k.broadcast(rate, width)), width
                    )

                k.vectorize(half, body)
    return k.build()


_GPU_THREADS, _GPU_STEPS = 256, 4  # of f0, which a workgroup turns into samples


def _build_gpu_kernel(call: OpCall) -> Any:
    """Build the GPU kernel; a workgroup sums the pitch of all steps before its own.

    Raises NotImplementedError for an odd `upsample`.
    """
    a, harmonics = call.attributes, int(call.shapes["weight"][1])
    upsample = int(a["upsample"])
    half = upsample // 2
    if upsample % 2:
        raise NotImplementedError("harmonic_source: an odd upsampling factor has no kernel")
    k = GpuKernel("harmonic_source", call.features)
    with k:
        f0, noise = k.param("f0", call.shapes["f0"]), k.param("noise", call.shapes["noise"])
        weight, bias = k.param("weight", (1, harmonics)), k.param("bias", (1,))
        y, valid_steps = call.declare_result(k, f0)
        with k.launch(_GPU_THREADS, ceildiv(k.index(f0.shape[1]), _GPU_STEPS)) as (thread, group):
            n, start = k.let(valid_steps), k.let(group * _GPU_STEPS)
            base = k.let(maximum(minimum(start, n - 1) - 1, 0))
            phases = HarmonicPhases(
                k,
                f0,
                n,
                rate=int(a["sample_rate"]),
                upsample=upsample,
                harmonics=harmonics,
                rows=_GPU_STEPS + 2,
                base=base,
                thread=thread,
                threads=_GPU_THREADS,
            )
            with k.strided_loop(_GPU_STEPS * upsample, thread, _GPU_THREADS) as p:
                i, sample = k.let(start + p // upsample), k.let(p % upsample)
                with k.when(i < n):
                    # As on CPUs: the middle of a step has its phase, which is constant at both ends.
                    late = k.let(sample >= half)
                    at = k.let(select(late, i, maximum(i - 1, 0)))
                    towards = k.let(select(late, minimum(i + 1, n - 1), i))
                    halves = 2 * select(late, sample - half, sample + half) + 1
                    halves = k.let(select(towards > at, halves, k.index(0)))
                    voiced = k.let(f0[0, i] > k.real(float(a["voiced_threshold"])))
                    level = select(voiced, k.real(float(a["noise_std"])), k.real(float(a["amplitude"]) / 3))
                    squares = k.zeros()
                    with k.loop(harmonics) as h:
                        k.accumulate(squares, weight[0, h] * weight[0, h], 0)
                    place = k.let(i * upsample + sample)
                    excitation = k.registers(1)
                    k.store(excitation, sqrt(squares[0]) * level * noise[0, place], 0)
                    k.accumulate(excitation, phases.not_a_number(towards - base), 0)
                    with k.when(voiced):
                        tone = phases.sines(weight, at - base, towards - base, halves)
                        k.accumulate(excitation, tone * k.real(float(a["amplitude"])), 0)
                    k.store(y, tanh(k, excitation[0] + bias[0]), 0, place)
    return k.build()


@semantic_op(_infer_shape, cpu=OpImplementation(_build_cpu_kernel), gpu=OpImplementation(_build_gpu_kernel))
def harmonic_source(
    f0: Tensor,
    noise: Tensor,
    weight: Tensor,
    bias: Tensor,
    length: Tensor | None = None,
    *,
    upsample: int,
    sample_rate: int,
    amplitude: float,
    noise_std: float,
    voiced_threshold: float,
) -> Tensor:
    """Compute tanh(weight . sines + |weight| * level * noise + bias), sample by sample.

    sines are amplitude * sin(phase_h) in voiced steps, else 0. level is noise_std in voiced steps, else
    amplitude / 3. The stock source adds noise to every harmonic; the sum of such noises is distributed as one
    noise times the norm of the weights.

    Phases are counted in cycles, in float64, modulo one, so they stay exact for any length. Between two steps
    of f0 they move linearly, as torch's interpolation of the cumulated phase does.

    Args:
        f0: (1, N), Hz.
        noise: (1, N*upsample), standard normal.
        weight: (1, H), of the harmonics.
        bias: (1,).
        length: int64 (1,), valid steps of f0.
        upsample: Samples of a step.
        sample_rate: Hz.
        amplitude: Of the sines.
        noise_std: Level of the noise in voiced steps.
        voiced_threshold: Hz above which a step is voiced.

    Returns:
        (1, N*upsample).
    """
    pitch = crop_valid(f0, length)[0].double()
    steps, harmonics = pitch.shape[0], weight.shape[1]
    samples = steps * upsample
    increments = torch.remainder(pitch[:, None] * torch.arange(1, harmonics + 1) / sample_rate, 1.0)
    cycles = torch.remainder(torch.cumsum(increments, 0) * upsample, 1.0)
    position = ((torch.arange(samples, dtype=torch.float64) + 0.5) / upsample - 0.5).clamp(min=0)
    start = position.long()
    following = (start + 1).clamp(max=steps - 1)
    advance = torch.where(
        following[:, None] > start[:, None],
        (position - start)[:, None] * (upsample * increments[following]),
        0.0,
    )
    phase = torch.remainder(cycles[start] + advance, 1.0)
    sines = torch.sin(2 * math.pi * phase).to(f0.dtype) * amplitude
    voiced = (crop_valid(f0, length)[0] > voiced_threshold).to(f0.dtype).repeat_interleave(upsample)[:, None]
    noise_amplitude = voiced * noise_std + (1 - voiced) * amplitude / 3
    hiss = torch.linalg.vector_norm(weight) * noise_amplitude[:, 0] * noise[0, :samples]
    excitation = torch.tanh((sines * voiced) @ weight[0] + hiss + bias)
    return pad_steps(excitation[None], f0.shape[1] * upsample)
