"""bfloat16 rounding matches torch bit for bit, and pairs can be unpacked."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from bits import to_float32, unpaired
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from kokoro_tvm.kernels.cpu.bfloat16 import pack_pairs, round_to_bfloat16

SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, max_side=5)
# Any 32 bits are a float32: every NaN, subnormal number and tie comes up.
FLOATS = arrays.arrays(np.uint32, SHAPES, elements=st.integers(0, 2**32 - 1)).map(
    lambda bits: np.asarray(bits).view(np.float32)
)


def like_torch(array: np.ndarray) -> np.ndarray:
    return torch.from_numpy(array.copy()).bfloat16().view(torch.int16).numpy().view(np.uint16)


@given(FLOATS)
@example(np.uint32([0x3F808000, 0x3F818000, 0x3F808001]).view(np.float32))  # ties to even, and one above
@example(np.uint32([0x7F7FFFFF, 0xFF7FFFFF, 0x7F7F7FFF]).view(np.float32))  # to infinity, and just not
@example(np.float32([0.0, -0.0, np.inf, -np.inf]))
@example(np.uint32([0x7F800001, 0xFFFFFFFF, 0x7FFF8000]).view(np.float32))  # NaN, only in its low half too
def test_round_to_bfloat16_matches_torch(array: np.ndarray) -> None:
    rounded = round_to_bfloat16(array)
    assert (rounded.dtype, rounded.shape) == (np.uint16, array.shape)
    nan = np.isnan(array)
    assert np.array_equal(np.isnan(to_float32(rounded)), nan)
    assert np.array_equal(rounded[~nan], like_torch(array)[~nan])


@given(arrays.arrays(np.uint16, SHAPES))
def test_round_to_bfloat16_keeps_bfloat16_values(bits: np.ndarray) -> None:
    values = to_float32(bits)
    same = torch.from_numpy(bits.view(np.int16).copy()).view(torch.bfloat16).float()
    assert np.array_equal(values, same.numpy(), equal_nan=True)
    again = round_to_bfloat16(values)
    assert np.array_equal(again[~np.isnan(values)], bits[~np.isnan(values)])


@given(arrays.arrays(np.float32, (3, 4), elements=st.floats(-(2.0**126), 2.0**126, width=32)))
def test_round_to_bfloat16_errs_by_half_a_unit_at_most(array: np.ndarray) -> None:
    normal = np.abs(array) >= 2.0**-126
    error = np.abs(to_float32(round_to_bfloat16(array)).astype(np.float64) - array)
    assert (error[normal] <= 2.0**-8 * np.abs(array.astype(np.float64)[normal])).all()


@given(st.data(), SHAPES)
def test_pack_pairs_is_reversible(data: st.DataObject, shape: tuple[int, ...]) -> None:
    finite = arrays.arrays(np.float32, shape, elements=st.floats(width=32, allow_nan=False))
    even, odd = data.draw(finite), data.draw(finite)
    lanes = pack_pairs(even, odd)
    assert (lanes.dtype, lanes.shape) == (np.int32, shape)
    for half, given_ in zip(unpaired(lanes), (even, odd), strict=True):
        assert np.array_equal(half, to_float32(round_to_bfloat16(given_)))


def test_pack_pairs_has_instruction_layout() -> None:
    """Expect even elements first: 32 bfloat16 in a row are 16 lanes."""
    values = np.arange(32, dtype=np.float32)
    lanes = pack_pairs(values[0::2], values[1::2])
    assert np.array_equal(lanes.view("<u2"), round_to_bfloat16(values))


def test_pack_pairs_rejects_different_shapes() -> None:
    with pytest.raises(ValueError, match=r"pairs of \(2, 3\) and \(3,\)"):
        pack_pairs(np.zeros((2, 3), np.float32), np.zeros(3, np.float32))
