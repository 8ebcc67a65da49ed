"""Dequantization of weights, and the transform of convolution taps.

`kokoro_tvm/compiler/quantize.py` quantizes; `kokoro_tvm/web/runtime/quantized.js` dequantizes with the same
bits as this module.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

METADATA = "quantized"
"""Key of a safetensors file's metadata: JSON with the arguments of `dequantize` by name of tensor."""


def dequantize(
    content: NDArray[np.uint8], *, bits: int, shape: Sequence[int], points: Sequence[Sequence[float]]
) -> NDArray[np.float32]:
    """Return weights, float32 (blocks, points, terms, columns).

    A weight is (code - 2**(bits - 1)) * scale.

    Args:
        content: float32 scales (blocks, columns); the upper 8 bits of each code; the other bits of all codes,
            lowest first, without gaps; padding.
        bits: of a code.
        shape: of the codes, (blocks, taps, terms, columns).
        points: (points, taps), see `transform_taps`.

    Raises:
        ValueError: there are too few bytes.
    """
    blocks, _, _, columns = shape
    count, low = math.prod(shape), bits - 8
    scales = content[: 4 * blocks * columns].view("<f4").reshape(blocks, 1, 1, columns)
    upper, lower = np.split(content[4 * blocks * columns :], [count])
    codes = upper.astype(np.int32) << low
    if 8 * lower.size < count * low:
        raise ValueError(f"has {lower.size} bytes for the lower bits of {count} codes of {bits}")
    lowest = np.unpackbits(lower, count=count * low, bitorder="little").reshape(count, low)
    for place in range(low):
        codes |= lowest[:, place].astype(np.int32) << place
    weights = (codes - (1 << (bits - 1))).astype(np.float32).reshape(shape) * scales
    return transform_taps(weights, np.asarray(points, np.float64))


def transform_taps(taps: NDArray[np.float32], points: NDArray[np.float64]) -> NDArray[np.float32]:
    """Multiply taps (blocks, taps, ...) by points (points, taps): (blocks, points, ...), float32."""
    # Sums are float64, in the order of the taps: the same bits in every implementation.
    result = np.empty((taps.shape[0], len(points), *taps.shape[2:]), np.float32)
    for point, factors in enumerate(points):
        total: Any = factors[0] * taps[:, 0].astype(np.float64)
        for tap, factor in enumerate(factors[1:], 1):
            total += factor * taps[:, tap].astype(np.float64)
        result[:, point] = total
    return result
