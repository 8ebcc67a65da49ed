from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from kokoro_tvm.targets import Machine

from .support import (
    check,
    check_masked,
    compiled_for,
    every_length,
    filtered,
    here,
    machines,
    random,
    random_lengths,
    run,
)

# inputs, outputs, stride, lead: Kokoro's two upsamplings, a stride of two, odd channel counts and round ones.
SHAPES = {
    "first": (21, 39, 10, False),
    "last": (7, 5, 6, True),
    "small": (5, 9, 2, False),
    "whole tiles": (4, 64, 6, True),
}


def tensors(
    name: str, steps: int, extras: tuple[str, ...] = ("bias", "residual")
) -> dict[str, torch.Tensor | None]:
    inputs, outputs, stride, lead = SHAPES[name]
    arguments = {
        "x": random(1, steps, inputs),
        "weight": random(inputs, outputs, 2 * stride, seed=2) / (2 * inputs) ** 0.5,
        "bias": random(outputs, seed=3),
        "residual": random(1, steps * stride + lead, outputs, seed=4),
    }
    return {n: t if n in ("x", "weight", *extras) else None for n, t in arguments.items()}


def attributes(name: str, slope: float = 0.1) -> dict[str, Any]:
    return {"stride": SHAPES[name][2], "slope": slope, "lead": SHAPES[name][3]}


@machines
@pytest.mark.parametrize("name", SHAPES)
def test_conv_transpose1d_matches_reference_at_every_length(name: str, machine: Machine) -> None:
    def holds(steps: int) -> None:
        check("conv_transpose1d", tensors(name, steps), attributes(name), machine=machine)

    every_length(holds, 700)


@machines
@pytest.mark.parametrize("name", SHAPES)
def test_conv_transpose1d_matches_reference_when_filtered(name: str, machine: Machine) -> None:
    """Expect that the weights of early and late phases read the same steps of the input."""

    def holds(steps: int) -> None:
        how = attributes(name) | {"tolerant": True}
        check("conv_transpose1d", tensors(name, steps), how, machine=machine, tolerance=filtered(3))

    every_length(holds, 700)


@machines
def test_conv_transpose1d_matches_reference_when_filtered_and_masked(machine: Machine) -> None:
    given_tensors, how = tensors("last", 300), attributes("last") | {"tolerant": True}

    def holds(length: int) -> None:
        check_masked("conv_transpose1d", given_tensors, how, length=length, machine=machine)

    random_lengths(holds, 300, also=(257,))


@machines
@pytest.mark.parametrize("extras", [(), ("bias",), ("residual",)], ids=["plain", "bias", "residual"])
def test_conv_transpose1d_matches_reference_with_optional_arguments(
    extras: tuple[str, ...], machine: Machine
) -> None:
    slope = 0.1 if extras == ("bias",) else 1.0
    check("conv_transpose1d", tensors("last", 31, extras), attributes("last", slope), machine=machine)


@machines
@pytest.mark.parametrize("name", SHAPES)
def test_conv_transpose1d_matches_reference_when_masked(name: str, machine: Machine) -> None:
    given_tensors = tensors(name, 300)

    def holds(length: int) -> None:
        check_masked("conv_transpose1d", given_tensors, attributes(name), length=length, machine=machine)

    random_lengths(holds, 300, also=(257,))


@machines
@pytest.mark.parametrize("name", SHAPES)
def test_conv_transpose1d_accepts_static_shape(name: str, machine: Machine) -> None:
    arguments = tensors(name, 33), attributes(name)
    actual = check("conv_transpose1d", *arguments, dynamic=False, machine=machine)
    assert actual.tobytes() == run("conv_transpose1d", *arguments, machine=machine).tobytes()


@machines
def test_conv_transpose1d_lead_reflects_second_step(machine: Machine) -> None:
    actual = run("conv_transpose1d", tensors("last", 9, ("bias",)), attributes("last"), machine=machine)
    assert (actual[:, 0] == actual[:, 2]).all()


@here
def test_conv_transpose1d_keeps_accumulators_in_registers(machine: Machine) -> None:
    module = compiled_for(machine, "conv_transpose1d", tensors("first", 64), attributes("first"))
    calls = re.findall(r"= load ptr, ptr @__TVMBackendAllocWorkspace\b", module.inspect_source("ll"))
    assert 1 <= len(calls) <= 2
