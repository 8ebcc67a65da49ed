"""Hann window and real Fourier bases of short transforms, computed into a workgroup's shared memory."""

from __future__ import annotations

from typing import Any

from kokoro_tvm.kernels.base.expressions import Cast, const, select
from kokoro_tvm.kernels.base.math import sin_cycles
from kokoro_tvm.kernels.gpu.kernel import GpuKernel


def sine_of_fraction(k: GpuKernel, number: Any, parts: int) -> Any:
    """Return the sine of `number` / `parts` turns; `parts` is a multiple of 4."""
    # Folded as an integer, so that zeros are exact and values symmetrical to the last bit.
    turn = k.let(number % parts)
    half = select(4 * turn > parts, parts // 2 - turn, turn)
    folded = k.let(select(4 * turn > 3 * parts, turn - parts, half))
    return sin_cycles(k, k.let(Cast("float32", folded) * k.real(1 / parts)))


def hann(k: GpuKernel, i: Any, n: int) -> Any:
    """Return value i of the periodic Hann window."""
    sine = k.let(sine_of_fraction(k, 2 * i, 4 * n))
    return sine * sine


def build_bases(k: GpuKernel, n: int, thread: Any, threads: int, scale: float = 1.0) -> tuple[Any, Any]:
    """Compute the windowed (cosines, sines) of bin b and sample i at b * n + i, times `scale`.

    Each has ((n/2 + 1) * n,) elements. Sines are negative, as in e**-i. A barrier must precede the first
    read.
    """
    count = (n // 2 + 1) * n
    cosines, sines = k.shared(count), k.shared(count)
    with k.strided_loop(count, thread, threads) as place:
        i = k.let(place % n)
        angle = k.let(place // n * i % n * 4)
        window = k.let(hann(k, i, n) * k.real(scale))
        k.store(cosines, window * sine_of_fraction(k, angle + n, 4 * n), place)
        k.store(sines, (const(0.0, "float32") - window) * sine_of_fraction(k, angle, 4 * n), place)
    return cosines, sines
