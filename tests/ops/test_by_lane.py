"""Products by one lane of a vector of channels are, to the last bit, those of channels read one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from neon_tiles import inner_loop, machine_for

from kokoro_tvm.targets import Machine

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
def test_the_order_of_sums_is_the_same(name: str, steps: int) -> None:
    operation, extents, attributes = LAYERS[name]
    inputs = extents[0] if operation == "conv_transpose1d" else extents[1]
    steps = max(steps, 12 if name == "stride" else 1)
    given = {"x": random(1, steps, inputs), "weight": random(*extents, seed=2)}

    def result(machine: Machine) -> np.ndarray:
        function = kernel_for(operation, given, attributes, machine=machine)
        _, arrays, written = prepared(operation, given, attributes, machine=MACHINE)
        (got,) = EmulatedKernel(RECIPE, function)(arrays, written, "end")
        return got

    one_by_one = replace(MACHINE, features=replace(MACHINE.features, by_lane=False))
    got = result(MACHINE)
    assert np.isfinite(got).all()
    assert np.array_equal(got, result(one_by_one))
    assert np.abs(got).max() > 0.1


def test_the_inner_loop_of_a_tile_on_arm() -> None:
    """Ten rows of four products with each of two vectors, which docs/targets.md counts."""
    loop = inner_loop(machine_for("cortex-a72"), rows=10, vectors=2, by_lane=True)
    assert sum("fmla" in line for line in loop) == 80
    assert not [line for line in loop if "[sp" in line]
