"""What the bits of bfloat16 are as float32."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def to_float32(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The same values as float32, exactly."""
    return (np.asarray(bits, np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)


def unpaired(lanes: NDArray[np.int32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The two halves that `pairs` put together: (even, odd) as float32."""
    bits = np.ascontiguousarray(lanes, np.int32).view(np.uint32).reshape(np.shape(lanes))
    even, odd = bits.astype(np.uint16), (bits >> np.uint32(16)).astype(np.uint16)
    return to_float32(even), to_float32(odd)
