"""GPU convolutions whose weights and activations memory holds as float16.

The reference takes values rounded likewise. Kernels compute in float32, so only the result is rounded again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.kernels.base.semantic import OpCall, registry
from kokoro_tvm.targets import Machine

from .on_gpu import AS_CPP, GPUS
from .samples import Use, assert_moments, conv1d, conv_transpose1d
from .support import Tensors, assert_near, reference, results

HALF = {kind: replace(m, features=replace(m.features, precision="float16")) for kind, m in GPUS.items()}
LAYERS = {
    "3 taps": conv1d(64, 64, 3, stride=1, dilation=1, padding=1, tolerant=True),
    "11 taps, 5 apart": conv1d(32, 21, 11, stride=1, dilation=5, padding=25, tolerant=True),
    "strided": conv1d(21, 39, 12, stride=6, dilation=1, padding=3, tolerant=True),
    "upsampling": conv_transpose1d(64, 64, 10, lead=False, tolerant=True),
    "last upsampling": conv_transpose1d(32, 32, 6, lead=True, tolerant=True),
}
HALVES = ("x", "residual", "added", "y")

machines = pytest.mark.parametrize(
    "machine",
    [
        pytest.param(m, id=kind, marks=AS_CPP if kind == "cuda" else pytest.mark.nightly)
        for kind, m in HALF.items()
    ],
)
layers = pytest.mark.parametrize("layer", [pytest.param(layer, id=name) for name, layer in LAYERS.items()])


def operation(layer: Use) -> str:
    return "conv_transpose1d" if "lead" in layer.attributes else "conv1d"


def rounded(tensors: Tensors) -> dict[str, torch.Tensor]:
    """Round weights and activations to float16."""
    kept = {name: t for name, t in tensors.items() if t is not None}
    return {n: t.half().float() if n in (*HALVES, "weight") else t for n, t in kept.items()}


def computed(layer: Use, steps: int, machine: Machine, moments: bool = False) -> list[np.ndarray]:
    tensors = layer.tensors(steps)
    halves = tuple(name for name in HALVES if name in tensors or name == "y")
    return results(
        operation(layer), tensors, layer.attributes, machine=machine, halves=halves, moments=moments
    )


@machines
@layers
def test_float16_conv1d_rounds_memory_only(layer: Use, machine: Machine) -> None:
    """Allow half of the result's last bit, and little for float32."""
    for steps in (layer.shortest, 150):
        (actual,) = computed(layer, steps, machine)
        assert actual.dtype == np.float16
        want = reference(operation(layer), rounded(layer.tensors(steps)), layer.attributes)
        allowed = 2.0**-11 * np.abs(want) + 2e-6 * np.abs(want).max()
        assert (np.abs(actual - want) <= allowed).all()
        assert (actual != want).any()


@machines
def test_float16_conv1d_emits_moments_before_rounding(machine: Machine) -> None:
    layer = LAYERS["3 taps"]
    y, moments = computed(layer, 150, machine, moments=True)
    exact = reference("conv1d", rounded(layer.tensors(150)), layer.attributes)
    assert_moments(moments, reference("moments", {"x": torch.from_numpy(exact)}))
    assert np.abs(y - exact).max() > 1e-4


@machines
def test_float16_leaves_intolerant_layers_in_float32(machine: Machine) -> None:
    layer = conv1d(32, 32, 3, stride=1, dilation=1, padding=1, tolerant=False)
    tensors = layer.tensors(40)
    (actual,) = results("conv1d", tensors, layer.attributes, machine=machine)
    assert_near(actual, reference("conv1d", tensors, layer.attributes))
    shapes = {name: tuple(t.shape) for name, t in tensors.items() if t is not None}
    call = OpCall(shapes, {**layer.attributes, "slope": 1.0, "repeat": 1}, (1, 40, 32), machine.features)
    assert registry()["conv1d"].kernel_for(machine.features).halves(call) == frozenset()


def test_float16_conv1d_rejects_overflowing_weight() -> None:
    layer = LAYERS["3 taps"]
    tensors = layer.tensors(9)
    weight = tensors["weight"]
    assert weight is not None
    weight[0, 0, 0] = 7e4
    with pytest.raises(BuildError, match=r"float16 does not hold a weight of 70000.0: .* precision float32"):
        results("conv1d", tensors, layer.attributes, machine=HALF["cuda"], halves=("y",))
