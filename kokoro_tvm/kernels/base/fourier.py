"""Hann window and real Fourier bases of short transforms, as matrices."""

from __future__ import annotations

import numpy as np


def hann(n: int) -> np.ndarray:
    """Return the periodic Hann window, float64 (n,)."""
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)


def _angles(n: int) -> np.ndarray:
    """Return the angles of bin b and sample i, (n/2 + 1, n), reduced modulo a turn."""
    return 2 * np.pi * (np.arange(n // 2 + 1)[:, None] * np.arange(n)[None, :] % n) / n


def _zero_rounding_errors(basis: np.ndarray) -> np.ndarray:
    """Replace rounding errors about zero by exact zeros."""
    # Kernels leave products with zeros out.
    return np.where(np.abs(basis) < 1e-12, 0.0, basis)


def forward_basis(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the windowed (cosines, sines), each (n/2 + 1, n): real = x . cosines, imaginary = x . sines."""
    return _zero_rounding_errors(np.cos(_angles(n)) * hann(n)), _zero_rounding_errors(
        -np.sin(_angles(n)) * hann(n)
    )


def inverse_basis(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the windowed (cosines, sines), each (n/2 + 1, n): x = real . cosines + imaginary . sines."""
    weight = np.full((n // 2 + 1, 1), 2.0 / n)
    weight[[0, -1]] = 1.0 / n
    return _zero_rounding_errors(weight * np.cos(_angles(n)) * hann(n)), _zero_rounding_errors(
        -weight * np.sin(_angles(n)) * hann(n)
    )
