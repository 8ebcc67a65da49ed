"""Products by one lane of a vector equal, bit for bit, products of channels read one by one."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest

from kokoro_tvm.compiler.codegen import generate_kernel
from kokoro_tvm.kernels.base.semantic import OpCall, registry
from kokoro_tvm.kernels.cpu.conv_plan import ConvPlan
from kokoro_tvm.targets import Machine, resolve
from kokoro_tvm.targets.cpu import LlvmTarget

from .emulated import EMULATED, EmulatedKernel
from .support import kernel_for, prepared, random

RECIPE = "linux-arm64"
MACHINE, OBSTACLE = EMULATED[RECIPE]
# operation, extents of the weight, attributes: with channels that are no whole vectors, parts of sums that
# are none, and edges.
LAYERS: dict[str, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    "filtered": ("conv1d", (24, 32, 3), {"padding": 1, "tolerant": True}),
    "filtered, 3 apart": ("conv1d", (16, 20, 7), {"padding": 9, "dilation": 3, "tolerant": True}),
    "five taps in parts": ("conv1d", (24, 23, 5), {"padding": 2}),
    "one tap in parts": ("conv1d", (16, 150), {}),
    "few channels": ("conv1d", (9, 3, 3), {"padding": 1}),
    "stride": ("conv1d", (16, 11, 12), {"padding": 3, "stride": 6}),
    "transposed": ("conv_transpose1d", (18, 16, 20), {"stride": 10, "tolerant": True}),
}


@pytest.mark.nightly
@pytest.mark.skipif(OBSTACLE is not None, reason=str(OBSTACLE))
@pytest.mark.parametrize("steps", [1, 7, 95])
@pytest.mark.parametrize("name", LAYERS)
def test_by_lane_keeps_order_of_sums(name: str, steps: int) -> None:
    operation, extents, attributes = LAYERS[name]
    inputs = extents[0] if operation == "conv_transpose1d" else extents[1]
    steps = max(steps, 12 if name == "stride" else 1)
    arguments = {"x": random(1, steps, inputs), "weight": random(*extents, seed=2)}

    def result(machine: Machine) -> np.ndarray:
        function = kernel_for(operation, arguments, attributes, machine=machine)
        _, arrays, written = prepared(operation, arguments, attributes, machine=MACHINE)
        (actual,) = EmulatedKernel(RECIPE, function)(arrays, written, "end")
        return actual

    one_by_one = replace(MACHINE, features=replace(MACHINE.features, by_lane=False))
    actual = result(MACHINE)
    assert np.isfinite(actual).all()
    assert np.array_equal(actual, result(one_by_one))
    assert np.abs(actual).max() > 0.1


def test_by_lane_loop_on_arm_uses_lane_multiplications() -> None:
    """Count ten rows of four products with each of two vectors, as docs/targets.md does."""
    machine = resolve(
        LlvmTarget(kind="llvm", mcpu="cortex-a72", mtriple="aarch64-linux-gnu", mattr=("-sve",))
    )
    attributes = {"stride": 1, "padding": 1, "dilation": 1, "slope": 1.0, "gain": 1.0, "repeat": 1}
    shapes = {"x": (1, "x_1", 128), "weight": (128, 128, 3), "bias": (128,)}
    call = OpCall(
        shapes, attributes | {"tolerant": True}, (1, "y_1", 128), replace(machine.features, by_lane=True)
    )
    with mock.patch.multiple(ConvPlan, rows=10, vectors=2):
        kernel = registry()["conv1d"].kernel(call)
    options = {"opt_level": 3, "disabled_passes": [], "config": {}}
    text = str(generate_kernel("conv1d", kernel, machine, options).inspect_source("asm"))
    loops = re.findall(r"^(\.L\w+):\n((?:\t[^.\n].*\n)+?\tb\.\w+\s+\1)$", text, re.MULTILINE)
    most: str = max((code for _, code in loops), key=lambda code: code.count("fmla"))
    assert most.count("fmla") == 80
    assert "[sp" not in most
