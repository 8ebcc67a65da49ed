"""Calls that share a launch return the bits that each returns alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from kokoro_tvm.common.features import Features
from kokoro_tvm.kernels.base.semantic import OpCall, registry
from kokoro_tvm.targets import Machine

from .on_gpu import AS_CPP, GPUS, RACES, on_gpu
from .support import _guarded, random, run

CHANNELS, STYLE, EPS = 21, 9, 1e-5
OPERATION = registry()["adain_coefficients"]

kinds = pytest.mark.parametrize(
    "machine",
    [
        pytest.param(machine, id=name, marks=AS_CPP if name in ("cuda", "races") else pytest.mark.nightly)
        for name, machine in {**GPUS, "races": RACES}.items()
    ],
)


def member(slots: int, seed: int) -> dict[str, torch.Tensor]:
    """Return the tensors of a call, except the style."""
    moments = random(slots, 4, CHANNELS, seed=seed)
    moments[:, 2] = moments[:, 2].abs() + moments[:, 1] ** 2
    moments[:, 3] = 5.0
    return {
        "moments": moments,
        "style_weight": random(2 * CHANNELS, STYLE, seed=seed + 1),
        "style_bias": random(2 * CHANNELS, seed=seed + 2),
        "weight": random(CHANNELS, seed=seed + 3),
        "bias": random(CHANNELS, seed=seed + 4),
    }


def call_of(members: int, features: Features) -> OpCall:
    shapes = {name: tuple(tensor.shape) for name, tensor in member(1, 0).items()}
    shapes = {"moments": ("moments_0", 4, CHANNELS), "style": (1, STYLE)} | {
        name: shape for name, shape in shapes.items() if name != "moments"
    }
    return OpCall(shapes, {"eps": EPS}, (3, CHANNELS), features, members=members)


@kinds
@pytest.mark.parametrize("slots", [(7, 1), (1, 30, 4), (3, 3, 2, 17)])
def test_shared_launch_matches_single_calls(slots: tuple[int, ...], machine: Machine) -> None:
    style = random(1, STYLE)
    members = [member(count, 10 * seed) for seed, count in enumerate(slots)]
    call = call_of(len(slots), machine.features)
    kernel = on_gpu(machine, OPERATION.kernel(call))
    assert kernel is not None
    packing = OPERATION.packings(call)["style_weight"].pack
    joined = [
        packing(own[name].numpy()) if name == "style_weight" else own[name].numpy()
        for own in members
        for name in OPERATION.gpu.sharing.joined  # type: ignore[union-attr]
    ]
    written = [np.full((3, CHANNELS), np.nan, np.float32) for _ in members]
    inputs = [
        *(own["moments"].numpy() for own in members),
        style.numpy(),
        np.concatenate([array.ravel() for array in joined]),
    ]
    arrays = [_guarded(array, "end") for array in (*inputs, *written)]
    kernel(*arrays)
    for own, actual in zip(members, arrays[-len(members) :], strict=True):
        alone = run(
            "adain_coefficients",
            {"moments": own["moments"], "style": style, **{k: v for k, v in own.items() if k != "moments"}},
            machine=replace(machine, options={}),
        )
        assert actual.tobytes() == alone.tobytes()


def test_shared_launch_fits_webgpu_buffers() -> None:
    """Count two buffers for each member, the style and the weights: at most ten."""
    features = GPUS["webgpu"].features
    sharing = OPERATION.gpu.sharing
    assert sharing is not None
    assert len(OPERATION.kernel(call_of(sharing.most, features)).params) == 10


def test_cpu_kernels_share_no_launch() -> None:
    assert all(operation.cpu.sharing is None for operation in registry().values())
