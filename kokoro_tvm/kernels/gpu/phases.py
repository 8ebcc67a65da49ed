"""Phases of a pitch's harmonics, in 32-bit integers.

A phase is a sum of the pitch in Hz modulo the sample rate: whole Hz and a fraction, both integers. So it is
exact for any length and any order of adding, and a harmonic's phase is a multiple of one sum. Integers have
no NaN, so a float sum beside them carries it.
"""

from __future__ import annotations

from typing import Any

from tvm import tirx

from kokoro_tvm.kernels.base.expressions import Cast, const, floor, nan_or_zero, select
from kokoro_tvm.kernels.base.math import sin_cycles
from kokoro_tvm.kernels.gpu.kernel import GpuKernel

_LOW, _HIGH = 12, 12
_FRACTION = _LOW + _HIGH  # fraction bits of a pitch in Hz: exact from 1 Hz on, rounded below

Sum = tuple[Any, Any]
"""Whole Hz, below the rate, and the fraction."""


class HarmonicPhases:
    """Phases of `rows` steps of the pitch f0 (1, N) from `base` on, which a workgroup holds in shared memory.

    Every thread of the workgroup must construct one.

    Args of the constructor: n, the number of steps; rate, in Hz; upsample, samples of a step; harmonics;
    thread and threads. Raises NotImplementedError if phases do not fit 32 bits.
    """

    def __init__(
        self,
        k: GpuKernel,
        f0: Any,
        n: Any,
        *,
        rate: int,
        upsample: int,
        harmonics: int,
        rows: int,
        base: Any,
        thread: Any,
        threads: int,
    ) -> None:
        if max(rate**2 + upsample * harmonics, 4 * upsample * rate, upsample * harmonics << _LOW) >= 2**31:
            raise NotImplementedError("harmonic_source: phases at this sample rate do not fit 32 bits")
        self._k, self._f0, self._rate, self._upsample = k, f0, rate, upsample
        self._harmonics, self._rows = harmonics, rows
        count = harmonics * rows
        tables = [k.shared(count, "int32") for _ in range(4)]
        before, lost_before = self._before(base, thread, threads)
        self._lost = k.shared(rows)
        with k.strided_loop(rows, thread, threads) as row, k.when(base + row < n):
            lost = k.registers(1)
            k.store(lost, lost_before, 0)
            with k.loop(row + 1) as r:
                k.accumulate(lost, nan_or_zero(f0[0, base + r]), 0)
            k.store(self._lost, lost[0], row)
        with k.strided_loop(count, thread, threads) as place:
            harmonic, row = k.let(place // rows + 1), k.let(place % rows)
            with k.when(base + row < n):
                values = (
                    *self._phase_at(before, base, row, harmonic),
                    *self._advance_per_sample(base + row, harmonic),
                )
                for buffer, value in zip(tables, values, strict=True):
                    k.store(buffer, value, place)
        k.barrier()
        self._at_step, self._moving = (tables[0], tables[1]), (tables[2], tables[3])

    def not_a_number(self, towards: Any) -> Any:
        """Return NaN from the first step on whose pitch is NaN, up to row `towards`; else 0."""
        return self._lost[towards]

    def sines(self, weight: Any, at: Any, towards: Any, halves: Any) -> Any:
        """Sum the harmonics' sines times weight (1, H), at a time between two rows.

        The time is `halves` half samples after row `at`; phases advance at the rate of row `towards`.
        """
        k, rate = self._k, self._rate
        result = k.zeros()
        with k.loop(self._harmonics) as h:
            start, step = k.let(h * self._rows + at), k.let(h * self._rows + towards)
            moved = Cast("float32", self._moving[1][step]) * Cast("float32", halves)
            twice = Cast("float32", self._at_step[1][start]) * k.real(2.0)
            fraction = k.let((twice + moved) * k.real(2.0**-_FRACTION))
            carry = k.let(floor(fraction))
            whole = 2 * self._at_step[0][start] + halves * self._moving[0][step] + Cast("int32", carry)
            turn = k.let(tirx.truncmod(whole, 2 * rate))  # 2 * rate is a whole turn
            # Folded as an integer to the quarter turns about 0 that have the same sine.
            back = k.let(tirx.all(2 * turn > rate, 2 * turn <= 3 * rate))
            near = select(2 * turn > 3 * rate, turn - 2 * rate, select(back, rate - turn, turn))
            rest = k.let(fraction - carry)
            folded = Cast("float32", near) + select(back, k.real(0.0) - rest, rest)
            sine = sin_cycles(k, k.let(folded * k.real(0.5 / rate)))
            k.accumulate(result, weight[0, h] * sine, 0)
        return result[0]

    def _pitch(self, step: Any) -> Sum:
        """Split a step's pitch into whole Hz, below the rate, and a fraction."""
        k = self._k
        value = k.let(self._f0[0, step])
        below = k.let(floor(value))
        whole = k.let(tirx.truncmod(Cast("int32", below), self._rate))
        scaled = k.let((value - below) * k.real(2.0**_FRACTION))
        fraction = k.let(Cast("int32", floor(scaled)))
        # Ties go to even: otherwise small pitches would all be rounded up, and the errors add up.
        rest, half = k.let(scaled - floor(scaled)), k.real(0.5)
        one, odd = const(1, "int32"), tirx.bitwise_and(fraction, 1)
        up = select(rest < half, const(0, "int32"), select(rest > half, one, odd))
        return k.let(select(whole < 0, whole + self._rate, whole)), k.let(fraction + up)

    def _carry(self, whole: Any, fraction: Any) -> Sum:
        """Carry the fraction's overflow into the whole Hz."""
        whole = tirx.truncmod(whole + tirx.shift_right(fraction, _FRACTION), self._rate)
        return self._k.let(whole), self._k.let(tirx.bitwise_and(fraction, (1 << _FRACTION) - 1))

    def _before(self, step: Any, thread: Any, threads: int) -> tuple[Sum, Any]:
        """Sum the pitch over all steps before `step`; also return NaN if one of them is NaN, else 0."""
        k = self._k
        sums, lost = self._allocate_sum(const(0, "int32"), const(0, "int32")), k.zeros()
        with k.strided_loop(step, thread, threads) as j:
            k.accumulate(lost, nan_or_zero(self._f0[0, j]), 0)
            whole, fraction = self._pitch(j)
            for part, value in enumerate(self._carry(sums[0] + whole, sums[1] + fraction)):
                k.store(sums, value, part)
        whole = self._total(sums[0], thread, threads, "int32")
        fraction = self._total(sums[1], thread, threads, "uint32")  # 256 of them are below 2**32
        high = tirx.shift_right(fraction, const(_FRACTION, "uint32"))
        low = tirx.bitwise_and(fraction, const((1 << _FRACTION) - 1, "uint32"))
        carried = self._carry(whole + Cast("int32", high), Cast("int32", low))
        return carried, self._total(lost[0], thread, threads, "float32")

    def _total(self, value: Any, thread: Any, threads: int, dtype: str) -> Any:
        """Sum a value over the workgroup."""
        k = self._k
        parts = k.shared(threads, dtype)
        k.store(parts, Cast(dtype, value), thread)
        k.barrier()
        while threads > 1:
            threads //= 2
            with k.when(thread < threads):
                k.accumulate(parts, parts[thread + threads], thread)
            k.barrier()
        return k.let(parts[0])

    def _phase_at(self, before: Sum, base: Any, row: Any, harmonic: Any) -> Sum:
        """Return a harmonic's phase at a row, times the rate."""
        k = self._k
        sums = self._allocate_sum(*before)
        with k.loop(row + 1) as r:
            for part, value in enumerate(self._pitch(base + r)):
                k.accumulate(sums, value, part)
        whole, fraction = self._carry(sums[0], sums[1])
        times = k.let(harmonic * self._upsample)
        # The fraction in two parts, because the product of all of it has more than 32 bits.
        low = k.let(tirx.bitwise_and(fraction, (1 << _LOW) - 1) * times)
        high = k.let(tirx.shift_right(fraction, _LOW) * times + tirx.shift_right(low, _LOW))
        whole = whole * tirx.truncmod(times, self._rate) + tirx.shift_right(high, _HIGH)
        lower = tirx.bitwise_and(low, (1 << _LOW) - 1)
        upper = tirx.shift_left(tirx.bitwise_and(high, (1 << _HIGH) - 1), _LOW)
        return tirx.truncmod(whole, self._rate), tirx.bitwise_or(upper, lower)

    def _advance_per_sample(self, step: Any, harmonic: Any) -> Sum:
        """Return a harmonic's phase advance in one sample of a step, times the rate."""
        whole, fraction = self._pitch(step)
        return self._carry(whole * harmonic, fraction * harmonic)

    def _allocate_sum(self, whole: Any, fraction: Any) -> Any:
        """Allocate registers of a sum (whole, fraction)."""
        sums = self._k.registers(2, "int32")
        self._k.store(sums, whole, 0)
        self._k.store(sums, fraction, 1)
        return sums
