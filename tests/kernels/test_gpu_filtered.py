"""GPU convolutions by minimal filtering; for CPUs see `test_conv1d_filtered`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from kokoro_tvm import kernels as ops
from kokoro_tvm.common.features import Workgroup
from kokoro_tvm.kernels.base.filtering import transforms
from kokoro_tvm.kernels.base.semantic import OpCall, registry
from kokoro_tvm.kernels.gpu.filtered import FilteredTile
from kokoro_tvm.kernels.moments import FEWEST_STEPS
from kokoro_tvm.targets.runners.wgpu import WGPU

from .on_gpu import AS_CPP, GPUS, RACES
from .samples import Use, assert_moments, conv1d
from .support import check_masked, every_length, random_lengths, reference, results, run

LIMITS = Workgroup(256, 16 << 10)
CUDA = GPUS["cuda"]
# Both numbers of lanes that a point has, one and two groups of taps, 15 and 16 rows.
LAYERS = {
    "3 taps": conv1d(16, 128, 3, stride=1, dilation=1, padding=1, tolerant=True),
    "3 taps, 5 apart": conv1d(32, 128, 3, stride=1, dilation=5, padding=5, tolerant=True),
    "7 taps, 3 apart": conv1d(16, 64, 7, stride=1, dilation=3, padding=9, tolerant=True),
    "11 taps, 5 apart": conv1d(32, 64, 11, stride=1, dilation=5, padding=25, tolerant=True),
}
layers = pytest.mark.parametrize("layer", [pytest.param(layer, id=name) for name, layer in LAYERS.items()])


def plain(use: Use, steps: int) -> dict[str, torch.Tensor | None]:
    """Return the attributes that compile fastest: neither activation nor residual."""
    return {name: t for name, t in use.tensors(steps).items() if name in ("x", "weight", "bias")}


def test_gpu_filtered_conv1d_matches_reference_at_every_length() -> None:
    layer = LAYERS["3 taps"]

    def holds(steps: int) -> None:
        tensors = plain(layer, steps)
        y = run("conv1d", tensors, layer.attributes, machine=CUDA)
        layer.near(y, reference("conv1d", tensors, layer.attributes))

    every_length(holds, 400)


@AS_CPP
@layers
def test_gpu_filtered_conv1d_applies_activation_and_residual(layer: Use) -> None:
    for steps in (1, 95, 96, 97, 300):
        tensors = layer.tensors(steps)
        y, moments = results("conv1d", tensors, layer.attributes, machine=RACES, moments=True)
        layer.near(y, reference("conv1d", tensors, layer.attributes))
        assert_moments(moments, ops.moments(torch.from_numpy(y).double()).numpy())
        assert y.tobytes() == run("conv1d", tensors, layer.attributes, machine=CUDA).tobytes()
        assert y.tobytes() == run("conv1d", tensors, layer.attributes, machine=GPUS["metal"]).tobytes()


@AS_CPP
@pytest.mark.skipif(WGPU.check() is not None, reason=str(WGPU.check()))
@pytest.mark.parametrize("name", ["3 taps", "11 taps, 5 apart"])
def test_gpu_filtered_conv1d_runs_as_wgsl(name: str) -> None:
    layer = LAYERS[name]
    tensors = layer.tensors(200)
    actual = run("conv1d", tensors, layer.attributes, machine=GPUS["webgpu"])
    layer.near(actual, reference("conv1d", tensors, layer.attributes))


@AS_CPP
@layers
def test_gpu_filtered_conv1d_matches_reference_when_masked(layer: Use) -> None:
    tensors = layer.tensors(300)

    def holds(length: int) -> None:
        check_masked("conv1d", tensors, layer.attributes, length=length, machine=CUDA)

    random_lengths(holds, 300, layer.shortest, also=(299,))


@AS_CPP
@pytest.mark.parametrize(
    ("taps", "dilation", "limit"), [(3, 1, 1.2e-6), (7, 3, 2.4e-6), (11, 5, 3.2e-6)], ids=str
)
def test_gpu_filtered_conv1d_loses_few_bits(taps: int, dilation: int, limit: float) -> None:
    """Measure a layer as wide as Kokoro's: root mean square error relative to the results."""
    layer = conv1d(128, 128, taps, 1, dilation, dilation * (taps - 1) // 2, tolerant=True)
    tensors = layer.tensors(500)
    want = reference("conv1d", tensors, layer.attributes)
    error = run("conv1d", tensors, layer.attributes, machine=CUDA) - want
    assert np.sqrt(np.mean(error**2)) <= limit * np.sqrt(np.mean(want**2))


@pytest.mark.parametrize(("taps", "lanes"), [(2, 32), (3, 32), (5, 16), (7, 16), (11, 16)])
def test_filtered_tile_fits_workgroup(taps: int, lanes: int) -> None:
    for dilation in (1, 2, 3, 5, 8):
        tile = FilteredTile.choose(128, 128, taps, dilation, LIMITS)
        assert tile is not None
        assert tile.lanes == lanes
        assert tile.threads <= LIMITS.threads
        assert 4 * sum(tile.shared) <= LIMITS.shared_bytes
        assert tile.steps >= FEWEST_STEPS
        assert tile.seen_rows <= tile.pitch


def test_filtered_tile_packs_transformed_weights() -> None:
    tile = FilteredTile.choose(16, 64, 11, 1, LIMITS)
    assert tile is not None
    weight = np.random.default_rng(1).standard_normal((64, 16, 11))
    packed = tile.pack(weight, "float32")
    assert packed.shape == (2, 11, 16, 64)
    want = transforms(tile.filtering).weight @ np.append(weight[3, 5, 6:], 0)
    np.testing.assert_allclose(packed[1, :, 5, 3], want, rtol=1e-6)


@pytest.mark.parametrize(
    ("precision", "tolerant", "filtered"),
    [("float32", True, True), ("float32", False, False), ("float16", True, False)],
)
def test_gpu_conv1d_filters_tolerant_float32_layers_only(
    precision: str, tolerant: bool, filtered: bool
) -> None:
    features = replace(CUDA.features, precision=precision)
    shapes = {"x": (1, "n", 128), "weight": (128, 128, 3)}
    attributes = {"stride": 1, "dilation": 1, "padding": 1, "tolerant": tolerant}
    call = OpCall(shapes, attributes, (1, "n", 128), features)
    assert ("F(6, 3)" in registry()["conv1d"].packings(call)["weight"].name) == filtered


@pytest.mark.parametrize(
    "refused",
    [
        (128, 128, 1, 1),
        (128, 128, 3, 9),
        (128, 128, 7, 6),
        (512, 512, 3, 1),
        (128, 96, 3, 1),
        (21, 128, 3, 1),
    ],
    ids=[
        "one tap",
        "far apart",
        "too short a tile for moments",
        "wide",
        "half a tile",
        "part of the channels",
    ],
)
def test_gpu_conv1d_falls_back_to_direct_tile(refused: tuple[int, int, int, int]) -> None:
    assert FilteredTile.choose(*refused, LIMITS) is None
