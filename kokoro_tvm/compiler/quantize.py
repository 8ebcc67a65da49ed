"""Weights in fewer bits, as pages load them: a scale for each output channel, a whole number for each weight.

Of a filtered layer the taps are quantized, not what they are transformed to: transforms would amplify what
rounding adds, and have up to 2.7 times as many numbers. Whoever loads them (`runtime/bundle/quantize_weight.py`,
`web/runtime/quantize_weight.js`) makes of them, bit for bit, what `Packing.pack` makes of the rounded weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kokoro_tvm.ops.base.semantic import Packing

__all__ = ["QuantizedWeight", "quantize_weight", "select_bits"]


@dataclass(frozen=True, eq=False)
class QuantizedWeight:
    """codes: int32 (blocks, taps, terms, columns), within +-(2**(bits - 1) - 1); scales: float32 (blocks,
    columns); points: float64 (points, taps), see `Packing`."""

    bits: int
    codes: np.ndarray
    scales: np.ndarray
    points: np.ndarray

    def description(self) -> dict[str, object]:
        """What `widened` takes besides `content`."""
        return {"bits": self.bits, "shape": self.codes.shape, "points": self.points.tolist()}

    def content(self) -> bytes:
        """As `widened` takes it. Upper bits are alike, so that compression makes fewer of them."""
        low = self.bits - 8
        codes = self.codes.ravel() + (1 << (self.bits - 1))
        lowest = (codes[:, None] >> np.arange(low)) & 1
        lower = np.packbits(lowest.astype(np.uint8), bitorder="little")
        upper = (codes >> low).astype(np.uint8)
        return self.scales.astype("<f4").tobytes() + upper.tobytes() + lower.tobytes()


def select_bits(name: str, bits: Mapping[str, int]) -> int | None:
    """Those of a weight, from a table by whole words that names begin with, of which the longest counts."""
    found = [prefix for prefix in bits if f"{name}.".startswith(f"{prefix}.")]
    return bits[max(found, key=len)] if found else None


def quantize_weight(array: np.ndarray, packing: Packing, bits: int) -> QuantizedWeight:
    """A weight (float32, as a layer has it) in `bits` bits, 8 to 20. Its scales are such that each
    channel's largest weight is the largest code."""
    arranged = packing.arrange(array).astype(np.float32)
    points = np.ones((1, 1)) if packing.points is None else packing.points
    blocks, taps = arranged.shape[0], points.shape[1]
    weights = arranged.reshape(blocks, taps, -1, packing.columns)
    most = (1 << (bits - 1)) - 1
    scales = (np.abs(weights).max(axis=(1, 2)) / most).astype(np.float32)
    divisors = np.where(scales > 0, scales, 1).astype(np.float64)
    codes = np.rint(weights / divisors[:, None, None]).clip(-most, most).astype(np.int32)
    return QuantizedWeight(bits, codes, scales, points)
