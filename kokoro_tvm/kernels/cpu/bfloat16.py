"""bfloat16 at build time: rounding, and the pairs that AVX512-BF16 multiplies.

numpy has no bfloat16. Values are held as their 16 bits, the upper half of a float32, in uint16. The
instruction takes pairs of them in 32-bit lanes and adds both products of a pair to a float32 sum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_QUIET = np.uint16(0x0040)  # the quiet bit, which keeps a NaN one if its low half is cut off


def round_to_bfloat16(array: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Round to the nearest bfloat16, ties to even.

    Values beyond the largest bfloat16 become infinite; NaN stays NaN. Subnormal numbers are kept, although
    the instruction takes them for zero.

    Args:
        array: float32 of any shape.

    Returns:
        The bits, uint16 of the array's shape.
    """
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32).reshape(np.shape(array))
    truncated = bits >> np.uint32(16)
    half = np.uint32(0x7FFF) + (truncated & np.uint32(1))
    # A NaN's low half may carry into its exponent, even around to zero: that sum is not used.
    rounded = ((bits + half) >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(array), truncated.astype(np.uint16) | _QUIET, rounded)


def pack_pairs(even: NDArray[np.float32], odd: NDArray[np.float32]) -> NDArray[np.int32]:
    """Round two arrays to bfloat16 and pack them in pairs.

    Args:
        even: float32, the low half of each lane.
        odd: float32 of the same shape, the high half.

    Returns:
        int32 of the same shape, the lanes of `dot.dot_pairs`.

    Raises:
        ValueError: The shapes differ; broadcasting would pair values that do not belong together.
    """
    if np.shape(even) != np.shape(odd):
        raise ValueError(f"pairs of {np.shape(even)} and {np.shape(odd)}: the shapes differ")
    low, high = (round_to_bfloat16(half).astype(np.uint32) for half in (even, odd))
    return (low | (high << np.uint32(16))).view(np.int32)
