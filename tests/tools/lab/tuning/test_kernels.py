"""Kernels by a choice, compiled and run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from machines import machine_of

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.kernels.base.schedule import ConvChoice
from kokoro_tvm.kernels.base.semantic import OpCall
from kokoro_tvm.kernels.conv1d import plan_of
from kokoro_tvm.tools.lab.tuning.kernels import prepared
from kokoro_tvm.tools.lab.tuning.layers import TunedLayer
from kokoro_tvm.tools.lab.tuning.search import ALLOWED_ERROR

MACHINE = machine_of("native", None, ())
ATTRIBUTES = {
    "stride": 1,
    "padding": 3,
    "dilation": 3,
    "slope": 1.0,
    "gain": 0.5,
    "repeat": 1,
    "tolerant": True,
}
CALL = OpCall(
    {
        "x": (1, "x_1", 64),
        "weight": (64, 64, 3),
        "bias": (64,),
        "norm": (3, 64),
        "alpha": (64,),
        "residual": (1, "residual_1", 64),
    },
    ATTRIBUTES,
    (1, "y_1", 64),
    MACHINE.features,
    ("moments_0", 4, 64),
)
LAYER = TunedLayer("toy", CALL, 1, 300)


@pytest.mark.parametrize("choice", [ConvChoice(1, 1, 4), ConvChoice(4, 3, 8), ConvChoice(4, 4, 16)])
def test_every_choice_computes_the_same(choice: ConvChoice) -> None:
    trial = prepared(MACHINE)(LAYER, choice)
    assert trial.error <= ALLOWED_ERROR["float32"]
    assert trial.seconds() > 0


def test_what_amx_multiplies_is_measured_here_too() -> None:
    """By the choice that there is: no filtering."""
    mattr = ("+avx512bf16", "+amx-tile", "+amx-bf16")
    try:
        machine_of("native", None, (), "bfloat16")
    except BuildError as error:
        pytest.skip(str(error))
    machine = machine_of("x86-64-v4", "x86_64-linux-gnu", mattr, "bfloat16")
    layer = replace(LAYER, call=replace(CALL, features=machine.features))
    assert plan_of(layer.call).tiles_multiply
    assert prepared(machine)(layer, ConvChoice(1, 1, 4)).error <= ALLOWED_ERROR["bfloat16"]
    with pytest.raises(BuildError, match="tune again"):
        plan_of(replace(layer.call, choice=ConvChoice(4, 3, 4)))


def test_an_error_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = prepared(MACHINE)(LAYER, ConvChoice(4, 3, 8))
    monkeypatch.setattr(trial, "_pack", lambda array, pack=trial._pack: pack(array * np.float32(1.0001)))
    assert ALLOWED_ERROR["float32"] < trial.error < 1e-3


@pytest.mark.parametrize("outputs_and_taps", [(6, 2), (2, 1), (13, 3), (3, 13)])
def test_a_choice_without_a_kernel_is_refused(outputs_and_taps: tuple[int, int]) -> None:
    with pytest.raises(BuildError, match=r"'conv1d 64->64 k3 d3 float32 .* F\(.*tune again"):
        plan_of(replace(CALL, choice=ConvChoice(*outputs_and_taps, 4)))
