"""Convolutions of operands rounded to bfloat16, compared with the reference of rounded operands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tiers import some_of
from torch import Tensor

from kokoro_tvm import kernels as ops
from kokoro_tvm.kernels.base.semantic import activate
from kokoro_tvm.targets import Machine

from .samples import Use, assert_moments, conv1d, conv_transpose1d
from .support import (
    BFLOAT16,
    NATIVE,
    OTHER_LAYERS,
    Tensors,
    check_masked,
    every_length,
    needs_bfloat16,
    reference,
    results,
    run,
    short_lengths,
)

pytestmark = needs_bfloat16

# Of the generator's kinds, and what stays plain convolution: strides, taps farther apart than a tile holds. Wide and transposed layers transform their weights in the cache.
FILTERED = {
    "3 taps": conv1d(32, 32, 3, stride=1, dilation=1, padding=1, tolerant=True),
    "3 taps, 5 apart": conv1d(64, 21, 3, stride=1, dilation=5, padding=5, tolerant=True),
    "5 taps, no padding": conv1d(32, 32, 5, stride=1, dilation=1, padding=0, tolerant=True),
    "7 taps, 3 apart": conv1d(64, 64, 7, stride=1, dilation=3, padding=9, tolerant=True),
    "11 taps, 5 apart": conv1d(32, 32, 11, stride=1, dilation=5, padding=25, tolerant=True),
    "wide": conv1d(512, 512, 3, stride=1, dilation=1, padding=1, tolerant=True),
    "first upsampling": conv_transpose1d(64, 39, 10, lead=False, tolerant=True),
    "last upsampling": conv_transpose1d(32, 32, 6, lead=True, tolerant=True),
}
PLAIN = {
    "far": conv1d(32, 64, 3, stride=1, dilation=7, padding=7, tolerant=True),
    "strided": conv1d(32, 39, 12, stride=6, dilation=1, padding=3, tolerant=True),
}
LAYERS = FILTERED | PLAIN
# The last pair of vectors overlaps the one before. AMX leaves these in float32.
UNEVEN = {
    "uneven": conv1d(50, 32, 7, stride=1, dilation=3, padding=9, tolerant=True),
    "uneven and far": conv1d(34, 39, 3, stride=1, dilation=7, padding=7, tolerant=True),
    "uneven and wide": conv1d(514, 512, 3, stride=1, dilation=1, padding=1, tolerant=True),
}
FEW = ("3 taps", "7 taps, 3 apart", "strided", "last upsampling")

# Products of bfloat16 are exact in float32, so that only sums are left to differ. An activation that float32
# rounds the other way moves one operand by 2**-8 of itself, one of dozens in a sum. Minimal filtering rounds
# transformed operands, not those that the reference gets: 3e-3 to 6e-3 in the root mean square, and the
# largest error of thousands is three times that.
SUMS, MOVED, TRANSFORMED = 2e-6, 1e-3, 3e-2


def operation(layer: Use) -> str:
    return "conv_transpose1d" if "lead" in layer.attributes else "conv1d"


def bfloat16(values: Tensor) -> Tensor:
    """Round to bfloat16, in the input's dtype."""
    return values.float().bfloat16().to(values.dtype)


def of_rounded(layer: Use, tensors: Tensors) -> np.ndarray:
    """Compute the reference in float64 of the activated input and the weight, each rounded to bfloat16."""
    slope = layer.attributes.get("slope", 1.0)
    x, weight = tensors["x"], tensors["weight"]
    assert x is not None
    assert weight is not None
    norm, alpha = (t.double() if (t := tensors.get(name)) is not None else None for name in ("norm", "alpha"))
    activate_value = activate(x.double(), norm, alpha, slope)
    rounded = {**tensors, "x": bfloat16(activate_value), "weight": bfloat16(weight)}
    rounded |= {name: None for name in ("norm", "alpha") if name in tensors}
    return reference(operation(layer), rounded, layer.attributes | {"slope": 1.0})


def without(layer: Use, *absent: str) -> Use:
    """Remove arguments."""
    return replace(layer, tensors=lambda steps: layer.tensors(steps) | dict.fromkeys(absent))


def check(layer: Use, steps: int, tolerance: float, machine: Machine | None = BFLOAT16) -> None:
    tensors = layer.tensors(steps)
    actual = run(operation(layer), tensors, layer.attributes, machine=machine)
    want = of_rounded(layer, tensors)
    assert actual.shape == want.shape
    # However well they cancel, terms are of the order of one.
    error = np.abs(actual - want).max() / max(np.abs(want).max(), 1.0)
    assert error <= tolerance, f"{steps} steps: relative error {error:.2e}, allowed {tolerance:.0e}"


@pytest.mark.parametrize("name", LAYERS | UNEVEN)
def test_bfloat16_conv1d_matches_reference_at_every_length(name: str) -> None:
    tolerance = MOVED if name in PLAIN or "far" in name else TRANSFORMED
    layer = (LAYERS | UNEVEN)[name]
    every_length(lambda steps: check(layer, steps, tolerance), 700, layer.shortest)


@pytest.mark.parametrize("name", PLAIN)
def test_bfloat16_conv1d_rounds_operands_only(name: str) -> None:
    plain = without(PLAIN[name], *{"norm", "alpha"} & set(PLAIN[name].tensors(1)))
    plain = replace(plain, attributes=plain.attributes | {"slope": 1.0})
    for steps in (plain.shortest, 31, 700):
        check(plain, steps, SUMS)


_PAIRED, _OUTPUTS = st.sampled_from([32, 64, 96]), st.integers(1, 70) | st.sampled_from([32, 64])


# Layers with whole pairs of channels, and which of their arguments are absent.
ANY_LAYER = st.builds(
    conv1d,
    _PAIRED,
    _OUTPUTS,
    st.integers(2, 12),
    stride=st.just(1),
    dilation=st.sampled_from([1, 2, 3, 5, 7]),
    padding=st.integers(0, 30),
    tolerant=st.just(True),
) | st.builds(
    conv_transpose1d, _PAIRED, _OUTPUTS, st.sampled_from([2, 4, 6, 10]), st.booleans(), st.just(True)
)
ABSENT = st.sets(st.sampled_from(["bias", "norm", "alpha", "residual"]))


@settings(max_examples=examples(12))
@given(ANY_LAYER, ABSENT)
@example(FILTERED["7 taps, 3 apart"], {"norm", "alpha", "residual", "bias"})
def test_bfloat16_conv1d_matches_reference_for_random_layers(layer: Use, absent: set[str]) -> None:
    layer = without(layer, *absent & set(layer.tensors(layer.shortest)))
    for steps in short_lengths(layer.shortest):
        check(layer, steps, TRANSFORMED)


@pytest.mark.parametrize("name", some_of(LAYERS, FEW, OTHER_LAYERS))
def test_bfloat16_conv1d_matches_reference_when_masked(name: str) -> None:
    layer = LAYERS[name]
    for length in (layer.shortest, 33, 199, 200):
        check_masked(operation(layer), layer.tensors(200), layer.attributes, length=length, machine=BFLOAT16)


@pytest.mark.parametrize(
    "name", some_of(("far", "3 taps", "7 taps, 3 apart", "11 taps, 5 apart"), ("far", "3 taps"), OTHER_LAYERS)
)
def test_bfloat16_conv1d_emits_moments_of_its_result(name: str) -> None:
    layer = LAYERS[name]

    def holds(steps: int) -> None:
        arguments = "conv1d", layer.tensors(steps), layer.attributes
        y, moments = results(*arguments, moments=True, machine=BFLOAT16)
        assert y.tobytes() == run(*arguments, machine=BFLOAT16).tobytes()
        assert_moments(moments, ops.moments(torch.from_numpy(y).double()).numpy())

    every_length(holds, 1300)


@pytest.mark.parametrize(
    ("taps", "dilation", "limit"),
    [
        *((3, 7, 2.5e-3), (3, 1, 4e-3), (7, 3, 3e-3)),
        pytest.param(11, 5, 3e-3, marks=pytest.mark.slow(OTHER_LAYERS)),
    ],
)
def test_bfloat16_conv1d_error_is_bounded(taps: int, dilation: int, limit: float) -> None:
    """Measure a layer as wide as Kokoro's: root mean square error relative to the unrounded results."""
    padding = dilation * (taps - 1) // 2
    layer = conv1d(128, 128, taps, stride=1, dilation=dilation, padding=padding, tolerant=True)
    arguments = "conv1d", layer.tensors(1000), layer.attributes
    want = reference(*arguments)
    error = run(*arguments, machine=BFLOAT16) - want
    assert limit / 3 <= np.sqrt(np.mean(error**2) / np.mean(want**2)) <= limit


@pytest.mark.parametrize(
    ("inputs", "taps", "tolerant"),
    [(32, 7, False), (32, 1, True), (30, 7, True), (33, 7, True)],
    ids=["intolerant", "one tap", "channels that do not fill a pair of vectors", "an odd channel"],
)
def test_bfloat16_leaves_other_layers_in_float32(inputs: int, taps: int, tolerant: bool) -> None:
    layer = conv1d(inputs, 32, taps, stride=1, dilation=1, padding=taps // 2, tolerant=tolerant)
    arguments = "conv1d", layer.tensors(300), layer.attributes
    assert run(*arguments, machine=BFLOAT16).tobytes() == run(*arguments, machine=NATIVE).tobytes()
