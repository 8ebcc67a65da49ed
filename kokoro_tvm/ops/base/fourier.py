"""The window and the real Fourier bases of short transforms.

As matrices for kernels, and as tensor expressions, computed in float32 where they run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import te, tirx

from kokoro_tvm.ops.base.plain import f32

__all__ = ["forward_basis", "forward_table", "hann", "hann_of", "inverse_basis", "inverse_table"]


def hann(n: int) -> np.ndarray:
    """Periodic Hann window, float64 (n,)."""
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)


def _angles(n: int) -> np.ndarray:
    return 2 * np.pi * (np.arange(n // 2 + 1)[:, None] * np.arange(n)[None, :] % n) / n


def _clean(basis: np.ndarray) -> np.ndarray:
    """Exact zeros where only rounding differs from them, so that kernels can leave the products out."""
    return np.where(np.abs(basis) < 1e-12, 0.0, basis)


def forward_basis(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Windowed (cosines, sines), each (n/2 + 1, n): real = x . cosines, imaginary = x . sines."""
    return _clean(np.cos(_angles(n)) * hann(n)), _clean(-np.sin(_angles(n)) * hann(n))


def inverse_basis(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Windowed (cosines, sines), each (n/2 + 1, n): x = real . cosines + imaginary . sines."""
    weight = np.full((n // 2 + 1, 1), 2.0 / n)
    weight[[0, -1]] = 1.0 / n
    return _clean(weight * np.cos(_angles(n)) * hann(n)), _clean(-weight * np.sin(_angles(n)) * hann(n))


def hann_of(i: Any, n: int) -> Any:
    """Value i of the window."""
    return f32(0.5) - f32(0.5) * tirx.cos(tirx.Cast("float32", i) * f32(2 * np.pi / n))


def forward_table(n: int) -> Any:
    """Cosines above sines, (2 * (n/2 + 1), n)."""
    return _table(n, lambda bin: f32(1.0))


def inverse_table(n: int) -> Any:
    """The same of the inverse transform."""
    return _table(n, lambda bin: tirx.Select(tirx.any(bin == 0, bin == n // 2), f32(1.0 / n), f32(2.0 / n)))


def _table(n: int, weight: Any) -> Any:
    bins = n // 2 + 1

    def value(k: Any, i: Any) -> Any:
        bin = k % bins
        angle = tirx.Cast("float32", bin * i % n) * f32(2 * np.pi / n)
        exact = tirx.any(bin == 0, bin == n // 2)  # no sines there, whatever rounding says
        sine = tirx.Select(exact, f32(0.0), f32(0.0) - tirx.sin(angle))
        return weight(bin) * hann_of(i, n) * tirx.Select(k < bins, tirx.cos(angle), sine)

    return te.compute((2 * bins, n), value, "basis")
