"""Buckets, padding and length axes."""

from __future__ import annotations

import numpy as np
import pytest

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.session.routing import TooLongError, fit, length_axis, smallest_bucket, valid_part


@pytest.mark.parametrize(("length", "bucket"), [(1, 16), (16, 16), (17, 64), (64, 64)])
def test_smallest_bucket_fits_the_length(length: int, bucket: int) -> None:
    assert smallest_bucket((16, 64), length, "tokens") == bucket


def test_smallest_bucket_refuses_longer_lengths() -> None:
    with pytest.raises(TooLongError, match=r"65 frames, but .* 64") as caught:
        smallest_bucket((16, 64), 65, "frames")
    assert isinstance(caught.value, InputError)


def test_length_axis_of_every_tensor() -> None:
    assert length_axis("noise", 600) == (1, 600)
    assert length_axis("f0", 600) == (1, 2)
    assert length_axis("asr", 600) == (2, 1)
    assert length_axis("style", 600) is None


def test_fit_pads_with_zeros() -> None:
    array = np.random.default_rng(0).standard_normal((1, 3, 5)).astype(np.float32)
    padded = fit(array, 2, 8)
    assert padded.shape == (1, 3, 8)
    assert padded.ctypes.data % 64 == 0
    assert not padded[:, :, 5:].any()
    assert np.array_equal(valid_part(padded, 2, 5), array)
