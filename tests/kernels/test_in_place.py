"""Results in an argument's memory equal, bit for bit, those in memory of their own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import tvm_ffi

from kokoro_tvm.kernels.base.semantic import OpCall, registry
from kokoro_tvm.runtime.session.tvm_runtime import use_threads
from kokoro_tvm.targets import Machine

from .support import (
    BFLOAT16,
    GPUS,
    HERE,
    NATIVE,
    THREADS,
    every_length,
    needs_bfloat16,
    prepared,
    random,
    run,
)

# channels, taps, dilation, tolerant: direct, one tap, filtered and wide, whose blocks are cut differently.
LAYERS = {
    "direct": (21, 3, 1, False),
    "one tap": (40, 1, 1, False),
    "filtered": (21, 3, 1, True),
    "filtered, 5 apart": (21, 11, 5, True),
    "wide": (512, 3, 1, True),
}


@pytest.mark.parametrize("machine", [*HERE, pytest.param(BFLOAT16, id="bfloat16", marks=needs_bfloat16)])
@pytest.mark.parametrize("over", ["residual", "added"])
@pytest.mark.parametrize("name", LAYERS)
def test_conv1d_writes_over_added_tensor(name: str, over: str, machine: Machine) -> None:
    channels, taps, dilation, tolerant = LAYERS[name]
    attributes = {
        "dilation": dilation,
        "padding": dilation * (taps - 1) // 2,
        "tolerant": tolerant,
        "gain": 0.7,
    }

    def holds(steps: int) -> None:
        tensors: dict[str, torch.Tensor | None] = {
            "x": random(1, steps, channels),
            "weight": random(channels, channels, taps, seed=2) / (channels * taps) ** 0.5,
            "bias": random(channels, seed=3),
            "residual": random(1, steps, channels, seed=6),
            "added": random(1, steps, channels, seed=7),
        }
        apart = run("conv1d", tensors, attributes, machine=machine)
        assert _written_over("conv1d", tensors, attributes, over, machine).tobytes() == apart.tobytes()

    every_length(holds, 300 if channels > 100 else 5000)


def test_conv1d_keeps_memory_of_repeated_residual() -> None:
    """Expect no reuse, because a step of the residual is read for two steps of the result."""
    shapes = {"x": (1, "n", 8), "weight": (8, 8, 1), "residual": (1, "m", 8), "added": (1, "n", 8)}
    attributes = {"stride": 1, "padding": 0, "dilation": 1, "slope": 1.0, "gain": 1.0, "tolerant": False}
    call = OpCall(shapes, {**attributes, "repeat": 2}, (1, "n", 8), NATIVE.features)
    assert registry()["conv1d"].cpu.in_place(call) == {"added"}


@pytest.mark.parametrize("machine", GPUS.values(), ids=GPUS)
def test_gpu_kernels_are_not_in_place(machine: Machine) -> None:
    """Expect no reuse, because WebGPU binds no buffer both for reading and for writing."""
    shapes = {"x": (1, "n", 8), "weight": (8, 8, 1), "residual": (1, "n", 8)}
    call = OpCall(shapes, {"repeat": 1}, (1, "n", 8), machine.features)
    assert all(operation.gpu.in_place(call) == frozenset() for operation in registry().values())


def _written_over(
    operation: str,
    tensors: dict[str, torch.Tensor | None],
    attributes: dict[str, object],
    over: str,
    machine: Machine,
) -> np.ndarray:
    function, arrays, _ = prepared(operation, tensors, attributes, machine=machine)
    arrays = [array.copy() for array in arrays]
    result = arrays[list(tensors).index(over)]
    use_threads(THREADS)
    function(*map(tvm_ffi.from_dlpack, (*arrays, result)))
    return result
