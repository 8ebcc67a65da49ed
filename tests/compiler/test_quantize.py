"""Quantized weights: loading them, in JavaScript too, returns what a build of the rounded weights packs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kokoro_tvm.compiler.quantize import QuantizedWeight, quantize_weight, select_bits
from kokoro_tvm.kernels.base.filtering import DIRECT, Filtering, transforms
from kokoro_tvm.kernels.base.semantic import Packing
from kokoro_tvm.runtime.bundle.quantized import dequantize, transform_taps

SCRIPT = Path(__file__).with_name("widen.mjs")
FILTERINGS = [DIRECT, Filtering(6, 3), Filtering(5, 7), Filtering(2, 2).of(Filtering(4, 4))]

shapes = st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 9))


def example(filtering: Filtering, shape: tuple[int, int, int], bits: int, seed: int) -> QuantizedWeight:
    """Return weights in which a whole channel may be zero."""
    blocks, terms, columns = shape
    weight = np.random.default_rng(seed).standard_normal((blocks, filtering.taps, terms, columns))
    weight[0, ..., 0] *= seed % 2
    packing = Packing("example", np.asarray, columns, transforms(filtering).weight)
    return quantize_weight(weight.astype(np.float32), packing, bits)


def packed(quantized: QuantizedWeight) -> np.ndarray:
    """Pack the rounded weights as a build does."""
    rounded = quantized.codes.astype(np.float32) * quantized.scales[:, None, None]
    return transform_taps(rounded, quantized.points)


def read(quantized: QuantizedWeight) -> np.ndarray:
    content = np.frombuffer(quantized.content() + bytes(13), np.uint8)
    return dequantize(
        content, bits=quantized.bits, shape=quantized.codes.shape, points=quantized.points.tolist()
    )


@given(st.sampled_from(FILTERINGS), shapes, st.integers(8, 20), st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_quantized_weight_widens_to_packed_weight(
    filtering: Filtering, shape: tuple[int, int, int], bits: int, seed: int
) -> None:
    quantized = example(filtering, shape, bits, seed)
    assert read(quantized).tobytes() == packed(quantized).tobytes()


@pytest.mark.parametrize("bits", [8, 10, 16, 20])
def test_quantize_weight_errs_by_half_a_step_at_most(bits: int) -> None:
    weight = np.random.default_rng(0).standard_normal((2, 1, 40, 3)).astype(np.float32)
    quantized = quantize_weight(weight, Packing("plain", np.asarray, 3), bits)
    steps = np.abs(weight).max(axis=(1, 2)) / (2 ** (bits - 1) - 1)
    assert (np.abs(read(quantized) - weight) <= 0.5001 * steps[:, None, None] + 1e-7).all()
    assert (np.abs(quantized.codes).max(axis=(1, 2)) == 2 ** (bits - 1) - 1).all()


def test_select_bits_uses_longest_prefix() -> None:
    bits = {"a": 10, "a.b": 8, "a.b.c.weight": 16}
    names = ["a.weight", "a.b.weight", "a.b.c.weight", "a.bc", "ab"]
    assert [select_bits(name, bits) for name in names] == [10, 8, 16, 10, None]


def test_widened_rejects_truncated_bytes() -> None:
    quantized = example(DIRECT, (2, 3, 4), 10, 1)
    content = np.frombuffer(quantized.content()[:-3], np.uint8)
    with pytest.raises(ValueError, match="bytes for the lower bits of 24 codes of 10"):
        dequantize(content, bits=10, shape=quantized.codes.shape, points=[[1.0]])


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_javascript_widens_to_same_bits(tmp_path: Path) -> None:
    examples = [
        example(filtering, shape, bits, seed)
        for seed, (filtering, shape) in enumerate(
            (filtering, shape) for filtering in FILTERINGS for shape in ((1, 1, 1), (3, 5, 4), (2, 3, 7))
        )
        for bits in (8, 9, 10, 13, 16, 20)
    ]
    for place, quantized in enumerate(examples):
        (tmp_path / f"{place}.bin").write_bytes(quantized.content())
    described = [json.dumps(quantized.description()) for quantized in examples]
    process = subprocess.run(
        ["node", SCRIPT, tmp_path], input="\n".join(described), text=True, capture_output=True, check=False
    )
    assert process.returncode == 0, process.stderr
    for place, quantized in enumerate(examples):
        assert (tmp_path / f"{place}.out").read_bytes() == packed(quantized).tobytes(), (
            quantized.description()
        )
