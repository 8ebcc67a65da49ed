"""The excitation of the vocoder: harmonics of the pitch where there is one, noise where there is none."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from tvm import te, tirx

from kokoro_tvm.ops.base.expressions import (
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
from kokoro_tvm.ops.base.math import dtype, reduce_cycles, sin_cycles, tanh
from kokoro_tvm.ops.base.plain import OPAQUE, choose, f32, loop, sequential, store, total, valid_steps
from kokoro_tvm.ops.base.semantic import Call, HandKernel, Shape, semantic_op, valid
from kokoro_tvm.ops.cpu.kernel import Kernel
from kokoro_tvm.ops.gpu.kernel import GpuKernel

__all__ = ["harmonic_source"]


def _shape(*, f0: Shape, upsample: int, **_: Any) -> Shape:
    return (1, f0[1] * upsample)


_BLOCK = 8  # steps of f0 a task turns into samples


def _kernel(call: Call) -> Any:
    lanes, a = call.features.lanes, call.attributes
    upsample, harmonics = int(a["upsample"]), int(call.shapes["weight"][1])
    half = upsample // 2  # a step's phase is reached in the middle of its samples
    if upsample % 2:
        raise NotImplementedError("harmonic_source: an odd upsampling factor has no kernel")
    k = Kernel("harmonic_source", lanes)
    with k:
        f0, noise = k.param("f0", call.shapes["f0"]), k.param("noise", call.shapes["noise"])
        weight, bias = k.param("weight", (1, harmonics)), k.param("bias", (1,))
        length = call.optional(k, "length", "int64")
        y = k.param("y", call.result)
        n = k.let(length[0] if length is not None else k.index(f0.shape[1]), "n")
        one = const(1.0, "float64")

        norm = k.registers(1)
        k.store(norm, const(0.0, "float32"), 0)
        with k.loop(harmonics) as h:
            k.store(norm, norm[0] + weight[0, h] * weight[0, h], 0)
        norm = k.let(sqrt(norm[0]), "norm")

        # TVM allocates before it reads a length, so the arrays are as long as f0 and not as its valid part.
        most = harmonics * f0.shape[1]
        cycles = k.scratch(most, "float64")  # phase at each step, modulo one
        increments = k.scratch(most, "float64")
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
            """`width` samples from t on, all between the middles of the same two steps and with one
            voicing."""
            excitation = k.registers(width)
            level = select(
                voiced,
                const(float(a["noise_std"]), "float32"),
                const(float(a["amplitude"]) / 3, "float32"),
            )
            hiss = k.splat(k.let(norm * level), width) * k.load(noise, 0, t, lanes=width)
            k.store(excitation, hiss, 0, lanes=width)
            loud = k.let(select(voiced, const(float(a["amplitude"]), "float32"), const(0.0, "float32")))
            with k.loop(harmonics) as h:
                begin = k.splat(cycles[h * n + at], width)
                slope = k.splat(increments[h * n + towards], width)
                phase = k.let(begin + lane_offsets * slope)
                phase = phase - floor(phase)
                folded = reduce_cycles(k, Cast(dtype(width), phase))
                sine = sin_cycles(k, folded)
                share = k.splat(k.let(weight[0, h] * loud), width)
                total = k.load(excitation, 0, lanes=width) + share * sine
                k.store(excitation, total, 0, lanes=width)
            result = tanh(k, k.load(excitation, 0, lanes=width) + k.splat(bias[0], width))
            k.store(y, result, 0, t, lanes=width)

        with (
            k.parallel((n + (_BLOCK - 1)) // _BLOCK) as block,
            k.loop(minimum(const(_BLOCK, "int64"), n - block * _BLOCK)) as offset,
        ):
            i = k.let(block * _BLOCK + offset)
            voiced = k.let(f0[0, i] > const(float(a["voiced_threshold"]), "float32"))
            # The first half of a step comes from the step before, the second half goes towards the next;
            # before the first middle and after the last the phase stands still.
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
                    start = k.let(Cast("float64", p) + const(lead, "float64"))
                    steps = k.splat(start, width)
                    if width > 1:
                        ramp = Cast(dtype(width, "float64"), iota(width))
                        steps = steps + ramp
                    sample(k.let(first + p), at, towards, voiced, k.let(steps * k.splat(rate, width)), width)

                k.each(half, body)
    return k.build()


_GPU_THREADS, _GPU_STEPS = 256, 4  # of f0, which a workgroup turns into samples
_LOW, _HIGH = 12, 12
_FRACTION = _LOW + _HIGH  # bits behind the point of a pitch in Hz: exact from 1 Hz on, and rounded below


def _gpu_kernel(call: Call) -> Any:
    """Phases are sums of the pitch in Hz modulo the sample rate, as whole Hz and a fraction: integers, so
    that they are exact for any length and any order of adding, and harmonics are multiples of one sum. A
    workgroup adds up the pitch of all steps before its own."""
    a, harmonics = call.attributes, int(call.shapes["weight"][1])
    upsample, rate = int(a["upsample"]), int(a["sample_rate"])
    half, rows = upsample // 2, _GPU_STEPS + 2
    if upsample % 2:
        raise NotImplementedError("harmonic_source: an odd upsampling factor has no kernel")
    if max(rate**2, 4 * upsample * rate, harmonics * upsample << _LOW) >= 2**31:
        raise NotImplementedError("harmonic_source: phases at this sample rate do not fit 32 bits")
    k = GpuKernel("harmonic_source", call.features)

    def i32(value: int) -> Any:
        return const(value, "int32")

    def f32(value: float) -> Any:
        return k.real(value)

    with k:
        f0, noise = k.param("f0", call.shapes["f0"]), k.param("noise", call.shapes["noise"])
        weight, bias = k.param("weight", (1, harmonics)), k.param("bias", (1,))
        length = call.optional(k, "length", "int32")
        y = k.param("y", call.result)
        given = length[0] if length is not None else k.index(f0.shape[1])

        def pitch(step: Any) -> tuple[Any, Any]:
            """(whole Hz modulo the rate, fraction)."""
            value = k.let(f0[0, step])
            below = k.let(floor(value))
            whole = k.let(tirx.truncmod(Cast("int32", below), i32(rate)))
            scaled = k.let((value - below) * f32(2.0**_FRACTION))
            fraction = k.let(Cast("int32", floor(scaled)))
            # To even where it lies between two, or small pitches would all be rounded up, and add up.
            rest = k.let(scaled - floor(scaled))
            even = select(rest < f32(0.5), i32(0), select(rest > f32(0.5), i32(1), fraction & i32(1)))
            return select(whole < 0, whole + rate, whole), k.let(fraction + even)

        def carried(whole: Any, fraction: Any) -> tuple[Any, Any]:
            whole, fraction = whole + (fraction >> i32(_FRACTION)), fraction & i32((1 << _FRACTION) - 1)
            return k.let(tirx.truncmod(whole, i32(rate))), k.let(fraction)

        def total(value: Any, thread: Any, dtype: str) -> Any:
            """The sum over the workgroup."""
            parts = k.shared(_GPU_THREADS, dtype)
            k.store(parts, Cast(dtype, value), thread)
            k.barrier()
            width = _GPU_THREADS // 2
            while width:
                with k.when(thread < width):
                    k.store(parts, parts[thread] + parts[thread + width], thread)
                k.barrier()
                width //= 2
            return k.let(parts[0])

        def before(step: Any, thread: Any) -> tuple[Any, Any]:
            """The sum of the pitches before a step."""
            sums = k.registers(2, "int32")
            for part in range(2):
                k.store(sums, i32(0), part)
            with k.shares(step, thread, _GPU_THREADS) as j:
                whole, fraction = pitch(j)
                for part, value in enumerate(carried(sums[0] + whole, sums[1] + fraction)):
                    k.store(sums, value, part)
            whole, fraction = total(sums[0], thread, "int32"), total(sums[1], thread, "uint32")
            high = Cast("int32", fraction >> const(_FRACTION, "uint32"))
            low = Cast("int32", fraction & const((1 << _FRACTION) - 1, "uint32"))
            return carried(whole + high, low)

        def phases(base: Any, thread: Any, n: Any) -> tuple[Any, Any, Any, Any]:
            """For every harmonic and every step from base on: cycles times the rate, (whole, fraction) at the
            step and (whole, fraction) a sample."""
            count = harmonics * rows
            found = [k.shared(count, "int32") for _ in range(4)]
            first, rest = before(base, thread)
            with k.shares(count, thread, _GPU_THREADS) as place:
                harmonic, row = k.let(place // rows + 1), k.let(place % rows)
                with k.when(base + row < n):
                    sums = k.registers(2, "int32")
                    for part, value in enumerate((first, rest)):
                        k.store(sums, value, part)
                    with k.loop(row + 1) as r:
                        for part, value in enumerate(pitch(base + r)):
                            k.store(sums, sums[part] + value, part)
                    whole, fraction = carried(sums[0], sums[1])
                    times = k.let(harmonic * upsample)
                    low = k.let((fraction & i32((1 << _LOW) - 1)) * times)  # in two parts, which fit
                    high = k.let((fraction >> i32(_LOW)) * times + (low >> i32(_LOW)))
                    whole = whole * tirx.truncmod(times, i32(rate)) + (high >> i32(_HIGH))
                    own, behind = pitch(base + row)
                    values = (
                        tirx.truncmod(whole, i32(rate)),
                        ((high & i32((1 << _HIGH) - 1)) << i32(_LOW)) | (low & i32((1 << _LOW) - 1)),
                        *carried(own * harmonic, behind * harmonic),
                    )
                    for buffer, value in zip(found, values, strict=True):
                        k.store(buffer, value, place)
            k.barrier()
            return tuple(found)

        def sines(at: Any, towards: Any, halves: Any) -> Any:
            """The weighted sum of the harmonics, half a sample's step times `halves` behind `at`."""
            cycles_whole, cycles_fraction, step_whole, step_fraction = found
            result = k.registers(1)
            k.store(result, const(0.0, "float32"), 0)
            with k.loop(harmonics) as h:
                start, step = k.let(h * rows + at), k.let(h * rows + towards)
                moved = Cast("float32", step_fraction[step]) * Cast("float32", halves)
                behind = (Cast("float32", cycles_fraction[start]) * f32(2.0) + moved) * f32(2.0**-_FRACTION)
                behind = k.let(behind)
                carry = k.let(floor(behind))
                whole = k.let(2 * cycles_whole[start] + halves * step_whole[step] + Cast("int32", carry))
                turn = k.let(tirx.truncmod(whole, i32(2 * rate)))  # 2 * rate is a whole turn
                # Folded as an integer to the quarter turns about 0 with the same sine.
                back = k.let(select(2 * turn > rate, 2 * turn <= 3 * rate, const(False, "bool")))
                near = select(2 * turn > 3 * rate, turn - 2 * rate, select(back, rate - turn, turn))
                rest = k.let(behind - carry)
                folded = Cast("float32", near) + select(back, f32(0.0) - rest, rest)
                sine = sin_cycles(k, k.let(folded * f32(0.5 / rate)))
                k.store(result, result[0] + weight[0, h] * sine, 0)
            return result[0]

        blocks = ceildiv(k.index(f0.shape[1]), _GPU_STEPS)
        with k.launch(_GPU_THREADS, blocks) as (thread, group):
            n, start = k.let(given), k.let(group * _GPU_STEPS)
            base = k.let(maximum(minimum(start, n - 1) - 1, 0))
            found = phases(base, thread, n)
            with k.shares(_GPU_STEPS * upsample, thread, _GPU_THREADS) as p:
                i, within = k.let(start + p // upsample), k.let(p % upsample)
                with k.when(i < n):
                    # The first half of a step comes from the step before, the second half goes towards
                    # the next; before the first middle and after the last the phase stands still.
                    late = k.let(within >= half)
                    at = k.let(select(late, i, maximum(i - 1, 0)))
                    towards = k.let(select(late, minimum(i + 1, n - 1), i))
                    halves = k.let(2 * select(late, within - half, within + half) + 1)
                    halves = k.let(select(towards > at, halves, i32(0)))
                    voiced = k.let(f0[0, i] > f32(float(a["voiced_threshold"])))
                    level = select(voiced, f32(float(a["noise_std"])), f32(float(a["amplitude"]) / 3))
                    squares = k.registers(1)
                    k.store(squares, const(0.0, "float32"), 0)
                    with k.loop(harmonics) as h:
                        k.store(squares, squares[0] + weight[0, h] * weight[0, h], 0)
                    place = k.let(i * upsample + within)
                    excitation = k.registers(1)
                    k.store(excitation, sqrt(squares[0]) * level * noise[0, place], 0)
                    with k.when(voiced):
                        tone = sines(at - base, towards - base, halves) * f32(float(a["amplitude"]))
                        k.store(excitation, excitation[0] + tone, 0)
                    k.store(y, tanh(k, excitation[0] + bias[0]), 0, place)
    return k.build()


def _decomposed(
    b: Any,
    f0: Any,
    noise: Any,
    weight: Any,
    bias: Any,
    length: Any | None,
    *,
    upsample: int,
    sample_rate: int,
    amplitude: float,
    noise_std: float,
    voiced_threshold: float,
) -> Any:
    """Phases are 32-bit integers of cycles / 2**32, which wrap by themselves."""

    def u32(value: int) -> Any:
        return tirx.const(value, "uint32")

    def cycles_a_sample(f0: Any, weight: Any) -> Any:
        """f0 * harmonic / sample_rate, modulo one: whole Hz by long division, so exactly."""

        def value(h: Any, i: Any) -> Any:
            whole = tirx.floor(f0[0, i])
            harmonic = tirx.Cast("int32", h + 1)
            hertz = tirx.floormod(tirx.Cast("int32", whole) * harmonic, tirx.const(sample_rate, "int32"))
            first = tirx.Cast("uint32", hertz) * u32(1 << 16)
            rest = tirx.truncmod(first, u32(sample_rate)) * u32(1 << 16)
            high, low = (tirx.truncdiv(part, u32(sample_rate)) for part in (first, rest))
            beyond = (f0[0, i] - whole) * tirx.Cast("float32", harmonic) * f32(2.0**32 / sample_rate)
            return high * u32(1 << 16) + low + tirx.Cast("uint32", beyond)

        return te.compute((weight.shape[1], f0.shape[1]), value, "increments")

    def accumulated(increments: Any) -> Any:
        def body(increments: Any, cycles: Any) -> None:
            with loop(increments.shape[0]) as h, loop(increments.shape[1]) as i:
                before = choose(i > 0, cycles[h, tirx.max(i - 1, 0)], u32(0))
                store(cycles, before + increments[h, i] * u32(upsample), h, i)

        return sequential("cycles", [increments], [(increments.shape, "uint32")], body)[0]

    def sampled(
        f0: Any, noise: Any, weight: Any, bias: Any, increments: Any, cycles: Any, length: Any
    ) -> Any:
        steps, half = valid_steps(f0, length), upsample // 2

        def harmonic(h: Any, p: Any) -> Any:
            """A step's phase is reached in the middle of its samples; before the first middle and after the
            last it stands still."""
            i, within = p // upsample, p % upsample
            late = within >= half
            towards = tirx.Select(late, tirx.min(i + 1, steps - 1), i)
            start = tirx.Select(late, i, tirx.max(i - 1, 0))
            moves = tirx.Select(late, i + 1 < steps, i > 0)
            halves = tirx.Cast("uint32", tirx.Select(late, within - half, within + half) * 2 + 1)
            advance = choose(moves, tirx.truncdiv(increments[h, towards], u32(2)) * halves, u32(0))
            turn = tirx.Cast("float32", cycles[h, start] + advance) * f32(2.0**-32)
            voiced = f0[0, i] > f32(voiced_threshold)
            sine = tirx.sin(turn * f32(2 * math.pi)) * f32(amplitude)
            return tirx.Select(voiced, sine, f32(0.0))

        def safe(h: Any, p: Any) -> Any:
            return choose(p < steps * upsample, harmonic(h, p) * weight[0, h], f32(0.0))

        def hiss(p: Any) -> Any:
            voiced = f0[0, p // upsample] > f32(voiced_threshold)
            level = tirx.Select(voiced, f32(noise_std), f32(amplitude / 3))
            return choose(p < steps * upsample, level * tirx.sqrt(norm[0]) * noise[0, p], f32(0.0))

        extent, harmonics = f0.shape[1] * upsample, weight.shape[1]
        norm = te.compute((1,), lambda _: total([harmonics], lambda h: weight[0, h] * weight[0, h]), "norm")
        sums = te.compute((1, extent), lambda _, p: total([harmonics], lambda h: safe(h, p)), "sums")
        return te.compute((1, extent), lambda _, p: tirx.tanh(sums[0, p] + hiss(p) + bias[0]), "excitation")

    if upsample % 2:
        raise NotImplementedError("harmonic_source: an odd upsampling factor has no decomposition")
    increments = b.emit_te(cycles_a_sample, f0, weight, primfunc_name_hint="harmonic_increments")
    cycles = b.emit_te(accumulated, increments, primfunc_name_hint="harmonic_phases", primfunc_attrs=OPAQUE)
    tensors = f0, noise, weight, bias, increments, cycles, length
    return b.emit_te(sampled, *tensors, primfunc_name_hint="harmonic_source")


@semantic_op(
    shape=_shape,
    decomposition=_decomposed,
    kernels={"cpu": HandKernel(_kernel), "gpu": HandKernel(_gpu_kernel)},
)
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
    """tanh(weight . sines + |weight| * level * noise + bias), one sample after another.

    sines: voiced ? amplitude * sin(phase_h) : 0; level: voiced ? noise_std : amplitude / 3. The stock source
    adds noise to every harmonic; the sum of such noises is distributed as one of them times the norm of the
    weights.

    f0 (1, N) Hz; noise (1, N*upsample) standard normal; weight (1, H); bias (1,); length (1,) int64 in
    steps of f0; result (1, N*upsample). Phases are counted in cycles, in float64, modulo one, so they stay
    exact for any length; between two steps of f0 they move linearly, as torch's interpolation of the
    cumulated phase does.
    """
    pitch = valid(f0, length)[0].double()
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
    voiced = (valid(f0, length)[0] > voiced_threshold).to(f0.dtype).repeat_interleave(upsample)[:, None]
    noise_amplitude = voiced * noise_std + (1 - voiced) * amplitude / 3
    hiss = torch.linalg.vector_norm(weight) * noise_amplitude[:, 0] * noise[0, :samples]
    out = f0.new_zeros(1, f0.shape[1] * upsample)
    out[0, :samples] = torch.tanh((sines * voiced) @ weight[0] + hiss + bias)
    return out
