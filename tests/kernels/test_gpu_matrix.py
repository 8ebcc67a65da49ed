"""GPU convolutions on matrix units, of operands rounded to float16."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from kokoro_tvm import kernels as ops
from kokoro_tvm.common.features import Workgroup
from kokoro_tvm.kernels.base.semantic import OpCall, activate, registry
from kokoro_tvm.kernels.gpu.matrix import MatrixTile
from kokoro_tvm.targets import Machine

from .on_gpu import AS_CPP, GPUS, RACES
from .samples import Use, assert_moments, conv1d
from .support import Tensors, check_masked, every_length, random_lengths, reference, results

LIMITS = Workgroup(256, 16 << 10)
HALVES = ("x", "residual", "added")
# Both tiles, channels that are no whole depth, taps far apart.
LAYERS = {
    "3 taps": conv1d(32, 128, 3, stride=1, dilation=1, padding=1, tolerant=True),
    "11 taps, 5 apart": conv1d(64, 128, 11, stride=1, dilation=5, padding=25, tolerant=True),
    "one tap, odd channels": conv1d(21, 128, 1, stride=1, dilation=1, padding=0, tolerant=True),
    "wide": conv1d(66, 512, 3, stride=1, dilation=1, padding=1, tolerant=True),
}
layers = pytest.mark.parametrize("layer", [pytest.param(layer, id=name) for name, layer in LAYERS.items()])


def with_units(machine: Machine) -> Machine:
    return replace(machine, features=replace(machine.features, precision="float16", matrices=True))


CUDA, WATCHED = with_units(GPUS["cuda"]), with_units(RACES)


def expected_result(layer: Use, tensors: Tensors) -> np.ndarray:
    """Compute exactly with operands rounded to float16."""
    held = (*HALVES, "weight")
    kept = {name: t if t is None or name not in held else t.half().float() for name, t in tensors.items()}
    x, slope = kept["x"], float(layer.attributes.get("slope", 1.0))
    assert x is not None
    x = activate(x, kept.get("norm"), kept.get("alpha"), slope).half().float()
    return reference(
        "conv1d", {**kept, "x": x, "norm": None, "alpha": None}, {**layer.attributes, "slope": 1.0}
    )


def assert_near(got: np.ndarray, expected_result: np.ndarray) -> None:
    """Accept either neighbour for an operand half way between two float16."""
    assert (np.abs(got - expected_result) <= 1e-3 * np.sqrt(np.mean(expected_result**2))).all()


def halves(tensors: Tensors) -> tuple[str, ...]:
    return tuple(name for name in HALVES if name in tensors)


def test_gpu_matrix_conv1d_matches_reference_at_every_length() -> None:
    """Use what compiles fastest: neither activation nor residual."""
    layer = LAYERS["3 taps"]

    def holds(steps: int) -> None:
        tensors = {n: t for n, t in layer.tensors(steps).items() if n in ("x", "weight", "bias")}
        (y,) = results("conv1d", tensors, layer.attributes, machine=CUDA, halves=halves(tensors))
        assert_near(y, expected_result(layer, tensors))

    every_length(holds, 200)


@AS_CPP
@layers
def test_gpu_matrix_conv1d_applies_activation_and_residual(layer: Use) -> None:
    for steps in (layer.shortest, 63, 64, 65, 200):
        tensors = layer.tensors(steps)
        held = halves(tensors)
        y, moments = results("conv1d", tensors, layer.attributes, machine=WATCHED, halves=held, moments=True)
        assert_near(y, expected_result(layer, tensors))
        assert_moments(moments, ops.moments(torch.from_numpy(y).double()).numpy())
        (rounded,) = results("conv1d", tensors, layer.attributes, machine=CUDA, halves=(*held, "y"))
        assert rounded.tobytes() == y.astype(np.float16).tobytes()


@AS_CPP
@pytest.mark.parametrize("name", ["3 taps", "wide"])
def test_gpu_matrix_conv1d_matches_reference_when_masked(name: str) -> None:
    layer = LAYERS[name]
    tensors = layer.tensors(150)

    def holds(length: int) -> None:
        check_masked("conv1d", tensors, layer.attributes, length=length, machine=CUDA)

    random_lengths(holds, 150, layer.shortest, also=(149,))


def test_matrix_tile_packs_lane_layout() -> None:
    tile = MatrixTile.choose(40, 128, 3, 1, LIMITS)
    assert tile is not None
    weight = np.random.default_rng(1).standard_normal((128, 40, 3))
    packed = tile.pack(weight, "float16")
    assert (packed.shape, packed.dtype) == ((3, 4, 16, 32, 2), np.int32)
    halves = packed.view(np.float16)
    # Lane 4 * 5 + 2 of output 8 * 9 + 5: channels 4 and 5 of sixteen, and 12 and 13.
    np.testing.assert_array_equal(halves[2, 1, 9, 22], weight[77, [20, 21, 28, 29], 2].astype(np.float16))
    assert not halves[:, 2, :, :, 2:].any()  # channels 40 to 47 do not exist
    assert not halves[:, 3].any()


@pytest.mark.parametrize(
    ("precision", "matrices", "multiplied"),
    [("float16", True, True), ("float16", False, False), ("float32", True, False)],
)
def test_gpu_conv1d_uses_matrix_units_for_float16_only(
    precision: str, matrices: bool, multiplied: bool
) -> None:
    features = replace(GPUS["cuda"].features, precision=precision, matrices=matrices)
    shapes = {"x": (1, "n", 128), "weight": (128, 128, 3)}
    attributes = {"stride": 1, "dilation": 1, "padding": 1, "tolerant": True}
    call = OpCall(shapes, attributes, (1, "n", 128), features)
    assert ("m16n8k16" in registry()["conv1d"].packings(call)["weight"].name) == multiplied


@pytest.mark.parametrize(
    "refused",
    [(128, 64, 3, 1), (8, 128, 3, 1), (128, 128, 11, 20)],
    ids=["half a tile", "few channels", "more steps than shared memory holds"],
)
def test_gpu_conv1d_falls_back_without_matrix_tile(refused: tuple[int, int, int, int]) -> None:
    assert MatrixTile.choose(*refused, LIMITS) is None
