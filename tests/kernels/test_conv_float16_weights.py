"""CPU convolutions whose weights memory holds as float16, compared with the reference of rounded weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from machines import machine_of
from tiers import some_of

from kokoro_tvm.common.cpu_features import FLOAT16, features_of_cpu
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.kernels.base.semantic import OpCall, registry
from kokoro_tvm.kernels.conv1d import plan_of

from .samples import conv1d
from .support import NATIVE, OTHER_LAYERS, reference, run
from .test_conv_bfloat16 import FEW, FILTERED, PLAIN, operation

pytestmark = pytest.mark.skipif(
    not FLOAT16 & (features_of_cpu() or frozenset()), reason="this CPU does not widen float16"
)

MACHINE = replace(NATIVE, features=replace(NATIVE.features, precision="float16"))
# Filtered where the kernel transforms the taps that it is given, and with channels that fill no vector.
WIDE = conv1d(514, 512, 3, stride=1, dilation=1, padding=1, tolerant=True)
LAYERS = {**PLAIN, "wide": WIDE, **FILTERED}
# Of minimal filtering, transformed weights are rounded, which are larger than what a result has of them.
SUMS, TRANSFORMED = 2e-5, 1e-2


@pytest.mark.parametrize("name", some_of(LAYERS, ("one tap", "wide", *FEW), OTHER_LAYERS))
def test_float16_weights_are_all_that_is_rounded(name: str) -> None:
    layer, tolerance = LAYERS[name], TRANSFORMED if name in FILTERED else SUMS
    for steps in (layer.shortest, 61):
        tensors = layer.tensors(steps)
        weight = tensors["weight"]
        assert weight is not None
        actual = run(operation(layer), tensors, layer.attributes, machine=MACHINE)
        rounded = {**tensors, "weight": weight.half().to(weight.dtype)}
        want = reference(operation(layer), rounded, layer.attributes)
        assert np.abs(actual - want).max() / max(np.abs(want).max(), 1.0) <= tolerance


def call(tolerant: bool) -> OpCall:
    shapes = {"x": (1, "n", 64), "weight": (64, 64, 3)}
    attributes = {"stride": 1, "padding": 1, "dilation": 1, "tolerant": tolerant}
    return OpCall(shapes, attributes, (1, "n", 64), MACHINE.features)


def test_float16_weights_leave_intolerant_layers() -> None:
    assert (plan_of(call(True)).operand.stored, plan_of(call(False)).operand.stored) == ("float16", "float32")


def test_float16_weights_reject_overflow() -> None:
    packing = registry()["conv1d"].packings(call(True))["weight"]
    with pytest.raises(BuildError, match=r"float16 holds no weight of .*: use a recipe of precision float32"):
        packing.pack(np.full((64, 64, 3), 1e5, np.float32))


def test_float16_weights_need_widening_cpu() -> None:
    with pytest.raises(BuildError, match=r"float16 needs a CPU that widens float16 \(f16c or neon\), which"):
        machine_of("x86-64-v2", "x86_64-linux-gnu", (), "float16")
