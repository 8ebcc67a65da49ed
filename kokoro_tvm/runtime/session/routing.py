"""Selection of buckets, and the length axes of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.bundle.tensors import aligned_empty

# Name of tensor -> (axis of its length, elements per token or frame; None: samples per frame). A bundle of
# fixed lengths has numbers as shapes, which do not tell this.
_LENGTH_AXES: dict[str, tuple[int, int | None]] = {
    "tokens": (1, 1),
    "d_en": (2, 1),
    "duration": (1, 1),
    "d": (2, 1),
    "t_en": (2, 1),
    "en": (2, 1),
    "asr": (2, 1),
    "f0": (1, 2),
    "n": (1, 2),
    "noise": (1, None),
    "audio": (1, None),
}


class TooLongError(InputError):
    """An utterance exceeds the largest bucket; `length` and `limit` are in units of `axis`."""

    def __init__(self, axis: str, length: int, limit: int, what: str = "The utterance") -> None:
        self.axis, self.length, self.limit = axis, length, limit
        super().__init__(
            f"{what} needs {length} {axis}, but the largest bucket of this bundle takes {limit}. "
            "Speak it in shorter parts" + (", or faster." if axis == "frames" else ".")
        )


def smallest_bucket(buckets: Sequence[int], length: int, axis: str) -> int:
    """Return the smallest of the ascending `buckets` that fits `length`; raises TooLongError."""
    for bucket in buckets:
        if length <= bucket:
            return bucket
    raise TooLongError(axis, length, buckets[-1])


def length_axis(name: str, samples_per_frame: int) -> tuple[int, int] | None:
    """Return (axis, elements per token or frame) of a tensor, or None if it has no length (`style`)."""
    if name not in _LENGTH_AXES:
        return None
    axis, factor = _LENGTH_AXES[name]
    return axis, samples_per_frame if factor is None else factor


def fit(array: NDArray[Any], axis: int, size: int) -> NDArray[Any]:
    """Pad an array with zeros at the end of `axis` to `size`, on a 64-byte boundary."""
    shape = list(array.shape)
    shape[axis] = size
    padded = aligned_empty(tuple(shape), array.dtype)
    valid_part(padded, axis, array.shape[axis])[...] = array
    padded[(slice(None),) * axis + (slice(array.shape[axis], None),)] = 0
    return padded


def valid_part(array: NDArray[Any], axis: int, size: int) -> NDArray[Any]:
    """Return a view of the first `size` elements of `axis`."""
    return array[(slice(None),) * axis + (slice(0, size),)]
