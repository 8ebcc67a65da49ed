"""Convolutions that emit the moments of their results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tiers import some_of

from kokoro_tvm import kernels as ops
from kokoro_tvm.common.features import Features
from kokoro_tvm.kernels.base.semantic import OpCall, registry
from kokoro_tvm.targets import Machine

from .samples import assert_moments, combined
from .support import OTHER_LAYERS, every_length, machines, random, random_lengths, results, run

# taps, dilation, tolerant: direct and by minimal filtering.
LAYERS = {
    "direct": (3, 1, False),
    "direct, dilated": (7, 3, False),
    "one tap": (1, 1, False),
    "filtered": (3, 1, True),
    "filtered, 3 apart": (7, 3, True),
    "filtered, 5 apart": (11, 5, True),
}


def tensors(name: str, steps: int, outputs: int, mean: float = 0.0) -> dict[str, torch.Tensor | None]:
    taps, _, _ = LAYERS[name]
    return {
        "x": random(1, steps, 21),
        "weight": random(outputs, 21, taps, seed=2) / (21 * taps) ** 0.5,
        "bias": random(outputs, seed=3) + mean,
        "residual": random(1, steps, outputs, seed=6),
    }


def attributes(name: str) -> dict[str, Any]:
    taps, dilation, tolerant = LAYERS[name]
    return {"dilation": dilation, "padding": dilation * (taps - 1) // 2, "tolerant": tolerant, "gain": 0.7}


def reference_moments(y: np.ndarray) -> np.ndarray:
    """Compute the moments of y by the reference, in float64."""
    return ops.moments(torch.from_numpy(y).double()).numpy()


@machines
@pytest.mark.parametrize("name", LAYERS)
def test_conv1d_moments_matches_reference_at_every_length(name: str, machine: Machine) -> None:
    """Compare the result bit for bit, and the moments with those of the result that was written."""

    def holds(steps: int) -> None:
        arguments = tensors(name, steps, 64), attributes(name)
        y, moments = results("conv1d", *arguments, machine=machine, moments=True)
        assert y.tobytes() == run("conv1d", *arguments, machine=machine).tobytes()
        assert_moments(moments, reference_moments(y))

    every_length(holds, 1300)


@machines
@pytest.mark.parametrize("outputs", [32, 64, 128])
@pytest.mark.parametrize("name", ["direct", "filtered, 3 apart"])
@pytest.mark.parametrize("steps", [12_001, 30_000])
def test_conv1d_moments_match_reference_over_many_blocks(
    steps: int, name: str, outputs: int, machine: Machine
) -> None:
    y, moments = results(
        "conv1d", tensors(name, steps, outputs), attributes(name), machine=machine, moments=True
    )
    assert_moments(moments, reference_moments(y))


@machines
@pytest.mark.parametrize("name", ["direct", "filtered"])
def test_conv1d_moments_keep_precision_of_large_means(name: str, machine: Machine) -> None:
    """Use a mean of a thousand spreads; sums of differences lose nothing."""
    arguments = tensors(name, 5000, 32, mean=1000.0)
    y, moments = results("conv1d", arguments, attributes(name), machine=machine, moments=True)
    assert_moments(moments, reference_moments(y))


@machines
@pytest.mark.parametrize("name", ["direct", "filtered, 3 apart"])
def test_conv1d_moments_tolerate_outlying_first_step(name: str, machine: Machine) -> None:
    """Use a first step ten thousand spreads off; sums about it would lose four digits."""
    arguments = tensors(name, 2000, 32)
    residual = arguments["residual"]
    assert residual is not None
    residual[:, 0] = 1e4
    y, moments = results("conv1d", arguments, attributes(name), machine=machine, moments=True)
    assert_moments(moments, reference_moments(y))


@machines
@pytest.mark.parametrize("name", some_of(LAYERS, ("direct, dilated", "filtered, 3 apart"), OTHER_LAYERS))
def test_conv1d_moments_matches_reference_when_masked(name: str, machine: Machine) -> None:
    """Compare bit for bit with the valid part alone; unused slots must be marked as empty."""
    arguments = tensors(name, 1000, 32)

    def holds(length: int) -> None:
        cut = {n: t[:, :length].contiguous() if n in ("x", "residual") else t for n, t in arguments.items()}  # type: ignore[index]
        want, want_moments = results("conv1d", cut, attributes(name), machine=machine, moments=True)
        for fill in (np.nan, -1e30):
            poisoned = {n: t.clone() for n, t in arguments.items() if t is not None}
            for part in ("x", "residual"):
                poisoned[part][:, length:] = fill
            poisoned["length"] = torch.tensor([length])
            y, moments = results(
                "conv1d", poisoned, attributes(name), dynamic=False, machine=machine, moments=True
            )
            assert y[:, :length].tobytes() == want.tobytes()
            used = want_moments[:, 3, 0] > 0
            assert moments[: len(want_moments)][used].tobytes() == want_moments[used].tobytes()
            assert (combined(moments)[0] == length).all()

    random_lengths(holds, 1000, also=(999,))


@machines
def test_conv1d_can_emit_moments_of_whole_blocks(machine: Machine) -> None:
    """Reject columns that only pad a block, and short blocks, which would need too many slots."""

    def gives(name: str, inputs: int, outputs: int) -> bool:
        taps, _, _ = LAYERS[name]
        shapes = {"x": (1, "n", inputs), "weight": (outputs, inputs, taps)}
        result = {"stride": 1, **attributes(name)}
        call = OpCall(shapes, result, (1, "n", outputs), machine.features)
        return registry()["conv1d"].kernel_for(machine.features).can_emit_moments(call)

    for name in LAYERS:
        assert gives(name, 128, 128)
        assert gives(name, 256, 256)
        assert not gives(name, 128, 21)
    assert gives("filtered, 5 apart", 60_000, 128) == (machine.kind != "llvm")


def test_only_listed_operations_can_emit_moments() -> None:
    shapes = {"x": (1, "n", 64)}
    attributes = {"stride": 4, "lead": 0}
    gives = set()
    for kind in ("cpu", "gpu"):
        call = OpCall(shapes, attributes, (1, "y_1", 64), Features(lanes=8, registers=16, kernels=kind))
        gives |= {
            (name, kind)
            for name, operation in registry().items()
            if name != "conv1d" and operation.kernel_for(call.features).can_emit_moments(call)
        }
    assert gives == {("join", "cpu"), ("join", "gpu"), ("conv_transpose1d", "gpu")}
