"""From predicted durations to frames: how long each token lasts, and which token every frame belongs to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.errors import BundleError
from kokoro_tvm.runtime.bundle.tensors import aligned_empty

__all__ = ["frame_durations", "repeat_tokens", "token_of_frame"]

_ENDLESS = 1 << 40  # frames; a bound that keeps a tiny speed from overflowing int64, far above any bucket


def frame_durations(duration: NDArray[np.float32], speed: float | NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole frames per token, int64 (tokens,): max(1, rint(duration / speed)), halves to even.

    `duration` is float32 (1, tokens) in frames at speed 1; `speed` is one for all or (tokens,). Raises
    BundleError when a duration is not finite.
    """
    if not np.isfinite(duration).all():
        raise BundleError("The duration component gave a value that is not finite. Build the bundle again.")
    with np.errstate(over="ignore"):
        # A speed too small for float32 would be 0, and 0 / 0 no duration.
        divisor = np.maximum(np.asarray(speed, np.float32), np.finfo(np.float32).tiny)
        scaled = np.rint(duration.reshape(-1).astype(np.float32) / divisor)
    return np.clip(scaled, 1, _ENDLESS).astype(np.int64)


def token_of_frame(durations: NDArray[np.int64]) -> NDArray[np.int64]:
    """Index of the token each frame belongs to, int64 (frames,)."""
    return np.repeat(np.arange(durations.size, dtype=np.int64), durations)


def repeat_tokens(features: NDArray[np.float32], index: NDArray[np.int64]) -> NDArray[np.float32]:
    """Spread token features (1, C, tokens) over the frames of `index` (frames,): (1, C, frames)."""
    frames = aligned_empty((*features.shape[:2], index.size), features.dtype)
    return np.take(features, index, axis=2, out=frames, mode="clip")  # clip writes straight into `out`
