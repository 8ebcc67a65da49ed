from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from tiers import some_of

from kokoro_tvm.targets import Machine

from .support import (
    OTHER_LAYERS,
    check,
    check_masked,
    compiled_for,
    every_length,
    here,
    machines,
    random,
    random_lengths,
    run,
)

# inputs, outputs, taps, stride, padding, dilation: as Kokoro has them, with odd channel counts where it
# matters.
SHAPES = {
    "one tap": (21, 45, 1, 1, 0, 1),
    "three taps": (16, 32, 3, 1, 1, 1),
    "dilated": (21, 9, 7, 1, 9, 3),
    "far": (8, 64, 11, 1, 25, 5),
    "one output": (5, 1, 3, 2, 1, 1),
    "source": (22, 39, 12, 6, 3, 1),
    "many channels": (150, 3, 3, 1, 1, 1),
    "no padding": (3, 5, 3, 1, 0, 1),
}
EXTRAS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "plain": ((), {}),
    "bias": (("bias",), {}),
    "leaky": (("bias", "norm"), {"slope": 0.2}),
    "snake": (("bias", "norm", "alpha"), {}),
    "snake alone": (("alpha",), {}),
    "residual": (("bias", "residual"), {"gain": 0.5**0.5}),
    "added": (("bias", "added"), {"gain": 0.5**0.5}),
    "all": (("bias", "norm", "alpha", "residual", "added"), {"gain": 1 / 3}),
}


def tensors(
    shape: tuple[int, int, int, int, int, int], extras: tuple[str, ...], steps: int
) -> dict[str, torch.Tensor | None]:
    inputs, outputs, taps, stride, padding, dilation = shape
    result = (steps + 2 * padding - dilation * (taps - 1) - 1) // stride + 1
    arguments: dict[str, torch.Tensor | None] = {
        "x": random(1, steps, inputs),
        "weight": random(outputs, inputs, taps, seed=2) / (inputs * taps) ** 0.5,
        "bias": random(outputs, seed=3),
        "norm": random(3, inputs, seed=4),
        "alpha": random(inputs, seed=5).abs() + 0.1,
        "residual": random(1, result, outputs, seed=6),
        "added": random(1, result, outputs, seed=7),
    }
    return {n: t if n in ("x", "weight", *extras) else None for n, t in arguments.items()}


def attributes(shape: tuple[int, int, int, int, int, int], more: dict[str, Any]) -> dict[str, Any]:
    return {"stride": shape[3], "padding": shape[4], "dilation": shape[5], **more}


def shortest(shape: tuple[int, int, int, int, int, int]) -> int:
    _, _, taps, _, padding, dilation = shape
    return max(1, dilation * (taps - 1) + 1 - 2 * padding)


@machines
@pytest.mark.parametrize("name", SHAPES)
def test_conv1d_matches_reference_at_every_length(name: str, machine: Machine) -> None:
    shape = SHAPES[name]
    extras, more = EXTRAS["all"]

    def holds(steps: int) -> None:
        check("conv1d", tensors(shape, extras, steps), attributes(shape, more), machine=machine)

    every_length(holds, 700, shortest(shape))


@machines
@pytest.mark.parametrize("name", EXTRAS)
def test_conv1d_matches_reference_with_optional_arguments(name: str, machine: Machine) -> None:
    shape = SHAPES["dilated"]
    extras, more = EXTRAS[name]
    for steps in (1, 31, 300):
        check("conv1d", tensors(shape, extras, steps), attributes(shape, more), machine=machine)


@machines
@pytest.mark.parametrize("name", some_of(SHAPES, ("three taps", "dilated", "source"), OTHER_LAYERS))
def test_conv1d_matches_reference_when_masked(name: str, machine: Machine) -> None:
    shape = SHAPES[name]
    extras, more = EXTRAS["all"]
    given_tensors = tensors(shape, extras, 300)

    def holds(length: int) -> None:
        check_masked("conv1d", given_tensors, attributes(shape, more), length=length, machine=machine)

    random_lengths(holds, 300, shortest(shape), also=(299,))


@machines
@pytest.mark.parametrize("steps", [1, 33, 513])
def test_conv1d_accepts_static_shape(steps: int, machine: Machine) -> None:
    shape = SHAPES["dilated"]
    extras, more = EXTRAS["all"]
    arguments = tensors(shape, extras, steps), attributes(shape, more)
    actual = check("conv1d", *arguments, dynamic=False, machine=machine)
    assert actual.tobytes() == run("conv1d", *arguments, machine=machine).tobytes()


@machines
@pytest.mark.parametrize("name", ["one tap", "dilated"])
def test_conv1d_repeats_residual_steps(name: str, machine: Machine) -> None:
    """Expect the residual's nearest neighbours."""
    shape, more = SHAPES[name], {"gain": 0.7}
    for steps in (2, 34, 300):
        given_tensors = tensors(shape, ("bias", "residual"), steps)
        half = random(1, steps // 2, shape[1], seed=8)
        given_tensors["residual"] = half.repeat_interleave(2, dim=1)
        want = run("conv1d", given_tensors, attributes(shape, more), machine=machine)
        given_tensors["residual"] = half
        actual = run("conv1d", given_tensors, attributes(shape, more | {"repeat": 2}), machine=machine)
        assert actual.tobytes() == want.tobytes()


@machines
def test_conv1d_accepts_matrix_as_weight(machine: Machine) -> None:
    given_tensors = tensors(SHAPES["one tap"], ("bias",), 45)
    weight = given_tensors["weight"]
    assert weight is not None
    want = run("conv1d", given_tensors, machine=machine)
    given_tensors["weight"] = weight[:, :, 0].contiguous()
    assert check("conv1d", given_tensors, machine=machine).tobytes() == want.tobytes()


@machines
def test_conv1d_keeps_precision_of_long_sums(machine: Machine) -> None:
    """Expect the error of sums of 128 for 3072 terms."""
    shape = (1024, 4, 3, 1, 1, 1)
    check("conv1d", tensors(shape, ("bias",), 200), attributes(shape, {}), machine=machine, tolerance=7e-7)


@machines
def test_conv1d_rejects_stride_with_dilation(machine: Machine) -> None:
    shape = (4, 4, 3, 2, 1, 2)
    with pytest.raises(NotImplementedError, match="stride and dilation together"):
        run("conv1d", tensors(shape, (), 20), attributes(shape, {}), machine=machine)


@here
@pytest.mark.parametrize("extras", ["plain", "all"])
def test_conv1d_keeps_accumulators_in_registers(machine: Machine, extras: str) -> None:
    """Expect only the slab and the sums of a tile in the workspace."""
    # Accumulators there would take three times as long.
    shape = SHAPES["three taps"]
    present, more = EXTRAS[extras]
    module = compiled_for(machine, "conv1d", tensors(shape, present, 64), attributes(shape, more))
    calls = re.findall(r"= load ptr, ptr @__TVMBackendAllocWorkspace\b", module.inspect_source("ll"))
    assert 1 <= len(calls) <= 2
