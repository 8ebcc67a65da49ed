"""Quantization of weights for pages: a scale per output channel, an integer per weight.

Of a filtered layer the taps are quantized, not the transformed weights: transforms would amplify the rounding
errors, and have up to 2.7 times as many numbers. The loaders (`runtime/bundle/quantized.py`,
`web/runtime/quantized.js`) compute, bit for bit, what `Packing.pack` computes from the rounded weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kokoro_tvm.kernels.base.semantic import Packing


@dataclass(frozen=True, eq=False)
class QuantizedWeight:
    """A weight as integers and scales.

    Attributes:
        bits: Bits of a code.
        codes: int32 (blocks, taps, terms, columns), within +-(2**(bits - 1) - 1).
        scales: float32 (blocks, columns).
        points: float64 (points, taps), see `Packing`.
    """

    bits: int
    codes: np.ndarray
    scales: np.ndarray
    points: np.ndarray

    def description(self) -> dict[str, object]:
        """Return what `dequantize` takes besides `content`, as JSON."""
        return {"bits": self.bits, "shape": self.codes.shape, "points": self.points.tolist()}

    def content(self) -> bytes:
        """Return the bytes that `dequantize` takes."""
        # Upper bits are similar, so they are stored apart from the lower ones, which compresses better.
        low = self.bits - 8
        codes = self.codes.ravel() + (1 << (self.bits - 1))
        lowest = (codes[:, None] >> np.arange(low)) & 1
        lower = np.packbits(lowest.astype(np.uint8), bitorder="little")
        upper = (codes >> low).astype(np.uint8)
        return self.scales.astype("<f4").tobytes() + upper.tobytes() + lower.tobytes()


def select_bits(name: str, bits: Mapping[str, int]) -> int | None:
    """Return the bits of a weight, or None.

    Args:
        name: Name of the weight.
        bits: Prefix of whole words of names to bits; the longest matching prefix counts.
    """
    prefixes = [prefix for prefix in bits if f"{name}.".startswith(f"{prefix}.")]
    return bits[max(prefixes, key=len)] if prefixes else None


def quantize_weight(array: np.ndarray, packing: Packing, bits: int) -> QuantizedWeight:
    """Quantize a weight; each channel's largest weight gets the largest code.

    Args:
        array: The layer's weight, float32.
        packing: Packing of the weight.
        bits: 8 to 20.
    """
    arranged = packing.arrange(array).astype(np.float32)
    points = np.ones((1, 1)) if packing.points is None else packing.points
    blocks, taps = arranged.shape[0], points.shape[1]
    weights = arranged.reshape(blocks, taps, -1, packing.columns)
    largest = (1 << (bits - 1)) - 1
    scales = (np.abs(weights).max(axis=(1, 2)) / largest).astype(np.float32)
    divisors = np.where(scales > 0, scales, 1).astype(np.float64)
    codes = np.rint(weights / divisors[:, None, None]).clip(-largest, largest).astype(np.int32)
    return QuantizedWeight(bits, codes, scales, points)
