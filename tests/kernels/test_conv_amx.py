"""Convolutions by AMX tiles, emulated on CPUs without AMX: only operands are rounded to bfloat16."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from examples import examples
from hypothesis import given, settings
from machines import machine_of

from kokoro_tvm import kernels as ops
from kokoro_tvm.kernels.base.filtering import DIRECT
from kokoro_tvm.kernels.cpu.conv_plan import ConvPlan

from .samples import Use, assert_moments, conv1d
from .support import check_masked, every_length, needs_bfloat16, random_lengths, results, run, short_lengths
from .test_conv_bfloat16 import ABSENT, ANY_LAYER, LAYERS, MOVED, SUMS, check, operation, without

pytestmark = [needs_bfloat16, pytest.mark.slow("runs tiles of AMX, emulated where the CPU has none")]
MACHINE = machine_of(
    "x86-64-v4",
    "x86_64-linux-gnu",
    ("-prefer-256-bit", "+avx512bf16", "+amx-tile", "+amx-bf16"),
    "bfloat16",
)


@pytest.mark.parametrize("name", LAYERS)
def test_amx_conv1d_matches_reference_at_every_length(name: str) -> None:
    every_length(lambda steps: check(LAYERS[name], steps, MOVED, MACHINE), 700, LAYERS[name].shortest)


@pytest.mark.parametrize("name", LAYERS)
def test_amx_conv1d_rounds_operands_only(name: str) -> None:
    plain = without(LAYERS[name], *{"norm", "alpha"} & set(LAYERS[name].tensors(LAYERS[name].shortest)))
    plain = replace(plain, attributes=plain.attributes | {"slope": 1.0})
    for steps in (plain.shortest, 16, 31, 32, 33, 700):
        if steps >= plain.shortest:
            check(plain, steps, SUMS, MACHINE)


@settings(max_examples=examples(12))
@given(ANY_LAYER, ABSENT)
def test_amx_conv1d_matches_reference_for_random_layers(layer: Use, absent: set[str]) -> None:
    layer = without(layer, *absent & set(layer.tensors(layer.shortest)))
    for steps in short_lengths(layer.shortest):
        check(layer, steps, MOVED, MACHINE)


def test_amx_conv1d_matches_reference_for_wide_layers() -> None:
    """Use layers whose columns threads split."""
    layer = conv1d(512, 1024, 3, stride=1, dilation=1, padding=1, tolerant=True)
    for steps in (1, 17, 70):
        check(layer, steps, MOVED, MACHINE)


@pytest.mark.parametrize("name", LAYERS)
def test_amx_conv1d_matches_reference_when_masked(name: str) -> None:
    layer = LAYERS[name]

    def holds(length: int) -> None:
        given_tensors = layer.tensors(200)
        check_masked(operation(layer), given_tensors, layer.attributes, length=length, machine=MACHINE)

    random_lengths(holds, 200, layer.shortest, also=(33, 199))


@pytest.mark.parametrize("name", ["far", "7 taps, 3 apart"])
def test_amx_conv1d_emits_moments_of_its_result(name: str) -> None:
    layer = LAYERS[name]

    def holds(steps: int) -> None:
        arguments = "conv1d", layer.tensors(steps), layer.attributes
        y, moments = results(*arguments, moments=True, machine=MACHINE)
        assert y.tobytes() == run(*arguments, machine=MACHINE).tobytes()
        assert_moments(moments, ops.moments(torch.from_numpy(y).double()).numpy())

    every_length(holds, 1300)


@pytest.mark.parametrize("taps", [3, 7, 11])
def test_amx_conv1d_is_never_filtered(taps: int) -> None:
    """Expect plain convolution: multiplying takes less time than transforming."""
    plan = ConvPlan(128, 128, taps, 1, MACHINE.features, tolerant=True)
    assert plan.tiles_multiply
    assert plan.filtering == DIRECT
    assert not ConvPlan(128, 128, taps, 1, MACHINE.features).tiles_multiply, "intolerant"
    assert not ConvPlan(48, 128, taps, 1, MACHINE.features, tolerant=True).tiles_multiply, "not whole pairs"
