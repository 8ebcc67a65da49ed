"""Convolutions by minimal filtering on CPUs."""

from __future__ import annotations

import re

import numpy as np
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
    filtered,
    here,
    machines,
    random,
    random_lengths,
    reference,
    run,
)

# taps and dilation: all of the generator's, one tap more than a group and one less, and outputs that do not
# fill a block of columns.
LAYERS = {
    "3 taps": (3, 1),
    "3 taps, 3 apart": (3, 3),
    "3 taps, 5 apart": (3, 5),
    "7 taps": (7, 1),
    "7 taps, 3 apart": (7, 3),
    "11 taps, 5 apart": (11, 5),
    "2 taps": (2, 1),
    "4 taps, 2 apart": (4, 2),
    "5 taps": (5, 1),
}
FEW = ("3 taps", "4 taps, 2 apart", "7 taps, 3 apart")
TOLERANT = {"tolerant": True, "gain": 0.5**0.5}


def tensors(
    name: str, steps: int, inputs: int = 21, outputs: int = 32, mean: float = 0.0
) -> dict[str, torch.Tensor | None]:
    taps, _ = LAYERS[name]
    return {
        "x": random(1, steps, inputs) + mean,
        "weight": random(outputs, inputs, taps, seed=2) / (inputs * taps) ** 0.5,
        "bias": random(outputs, seed=3),
        "norm": random(3, inputs, seed=4),
        "alpha": random(inputs, seed=5).abs() + 0.1,
        "residual": random(1, _result(name, steps), outputs, seed=6),
    }


def _result(name: str, steps: int) -> int:
    taps, dilation = LAYERS[name]
    return steps + 2 * (dilation * (taps - 1) // 2) - dilation * (taps - 1)


def attributes(name: str) -> dict[str, float]:
    taps, dilation = LAYERS[name]
    return {"dilation": dilation, "padding": dilation * (taps - 1) // 2, **TOLERANT}


def shortest(name: str) -> int:
    return 1 + 1 - _result(name, 1)


def check_every_length(name: str, inputs: int, outputs: int, machine: Machine) -> None:
    def holds(steps: int) -> None:
        arguments = tensors(name, steps, inputs, outputs), attributes(name)
        check("conv1d", *arguments, machine=machine, tolerance=filtered(LAYERS[name][0]))

    every_length(holds, 1300, shortest(name))


@machines
@pytest.mark.parametrize("name", LAYERS)
def test_filtered_conv1d_matches_reference_at_every_length(name: str, machine: Machine) -> None:
    check_every_length(name, 21, 32, machine)


@machines
@pytest.mark.parametrize("name", some_of(LAYERS, FEW, OTHER_LAYERS))
def test_filtered_conv1d_matches_reference_with_partial_column_blocks(name: str, machine: Machine) -> None:
    check_every_length(name, 32, 21, machine)


@machines
def test_filtered_conv1d_matches_reference_for_wide_layers(machine: Machine) -> None:
    """Let the kernel transform the weights, for blocks of one tile and of several."""
    for steps in (1, 7, 126, 300, 847):
        arguments = tensors("3 taps", steps, 520, 512)
        check("conv1d", arguments, attributes("3 taps"), machine=machine, tolerance=filtered(3))


@machines
@pytest.mark.parametrize("name", some_of(LAYERS, FEW, OTHER_LAYERS))
def test_filtered_conv1d_matches_reference_when_masked(name: str, machine: Machine) -> None:
    given_tensors = tensors(name, 400)

    def holds(length: int) -> None:
        check_masked("conv1d", given_tensors, attributes(name), length=length, machine=machine)

    random_lengths(holds, 400, shortest(name), also=(399,))


@machines
@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("3 taps", 1.2e-6),
        ("7 taps, 3 apart", 6.5e-6),
        pytest.param("11 taps, 5 apart", 3.2e-6, marks=pytest.mark.slow(OTHER_LAYERS)),
    ],
)
def test_filtered_conv1d_loses_few_bits(name: str, limit: float, machine: Machine) -> None:
    """Measure a layer as wide as Kokoro's: root mean square error relative to that of the results."""
    arguments = tensors(name, 2000, 128, 128), attributes(name)
    want = reference("conv1d", *arguments)
    error = run("conv1d", *arguments, machine=machine) - want
    assert np.sqrt(np.mean(error**2)) <= limit * np.sqrt(np.mean(want**2))


@machines
@pytest.mark.parametrize("name", ["3 taps", "7 taps"])
def test_conv1d_does_not_filter_one_tap_or_strides(name: str, machine: Machine) -> None:
    """Expect the bits of the plain kernel: there are no products to save."""
    arguments = tensors(name, 201) | {"residual": None}
    check("conv1d", arguments, attributes(name) | {"stride": 2}, machine=machine)
    weight = arguments["weight"]
    assert weight is not None
    arguments["weight"] = weight[:, :, :1].contiguous()
    check("conv1d", arguments, {"tolerant": True}, machine=machine)


@machines
def test_filtered_conv1d_supports_large_dilation(machine: Machine) -> None:
    """Use dilations that fit a register tile, and larger ones, which are not filtered."""
    arguments = tensors("3 taps", 201) | {"residual": None}
    for dilation in (6, 7, 12, 13):
        result = {"dilation": dilation, "padding": dilation, "tolerant": True}
        check("conv1d", arguments, result, machine=machine, tolerance=filtered(3))


@pytest.mark.parametrize("steps", [1, 33, 513])
def test_filtered_conv1d_accepts_static_shape(steps: int) -> None:
    arguments = tensors("7 taps, 3 apart", steps), attributes("7 taps, 3 apart")
    actual = check("conv1d", *arguments, dynamic=False, tolerance=filtered(7))
    assert actual.tobytes() == run("conv1d", *arguments).tobytes()


@here
def test_filtered_conv1d_keeps_accumulators_in_registers(machine: Machine) -> None:
    """Expect only the transformed input and the products of a block in the workspace."""
    arguments = tensors("7 taps, 3 apart", 64), attributes("7 taps, 3 apart")
    module = compiled_for(machine, "conv1d", *arguments)
    calls = re.findall(r"= load ptr, ptr @__TVMBackendAllocWorkspace\b", module.inspect_source("ll"))
    assert 1 <= len(calls) <= 2
