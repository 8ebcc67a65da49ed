"""A layer in the schedule is computed as it says, and its weight is packed for that."""

from __future__ import annotations

import json

import pytest
import torch
from lowering import MACHINE, PASSES, lowered_program, small_program

import kokoro_tvm.kernels  # noqa: F401  (registers torch.ops.kokoro)
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.compiler.lower import LoweredModule, Parameter
from kokoro_tvm.kernels.base.schedule import ConvChoice

FEATURES = f"float32 {MACHINE.features.lanes}x{MACHINE.features.registers}"
LAYER = f"conv1d 4->32 k3 d1 {FEATURES}"


def lowered(schedule: dict[str, dict[str, int]], tolerant: bool = True) -> LoweredModule:
    def forward(weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return torch.ops.kokoro.conv1d(x, weights["w"], padding=1, tolerant=tolerant)

    program = small_program(forward, {"w": (32, 4, 3)})
    return lowered_program(program, "toy", PASSES, schedule=schedule)


def packed(result: LoweredModule) -> Parameter:
    (parameter,) = result.parameters
    return parameter


@pytest.mark.parametrize(("outputs", "taps"), [(1, 1), (4, 3), (4, 4)])
def test_schedule_packs_weight_for_choice(outputs: int, taps: int) -> None:
    result = lowered({LAYER: {"outputs": outputs, "taps": taps, "tiles": 3}})
    assert packed(result).shape[1] == outputs + taps - 1  # points
    packing = packed(result).packing
    assert packing is not None
    assert packing.call.choice == ConvChoice(outputs, taps, 3)
    assert Parameter.from_json(json.loads(json.dumps(packed(result).to_json()))) == packed(result)


def test_schedule_sets_tiles() -> None:
    one, other = (
        lowered({LAYER: {"outputs": 4, "taps": 3, "tiles": n}}).module.script(show_meta=True) for n in (2, 3)
    )
    assert one != other


def test_schedule_leaves_other_layers() -> None:
    rules = lowered({})
    choice = {"outputs": 1, "taps": 1, "tiles": 3}
    others = (f"conv1d 4->32 k3 d3 {FEATURES}", f"conv1d 4->32 k3 d1 float32 {MACHINE.features.lanes}x7", "x")
    same = lowered(dict.fromkeys(others, choice))
    assert same.module.script(show_meta=True) == rules.module.script(show_meta=True)
    assert same.parameters == rules.parameters
    exact = lowered({LAYER: choice}, tolerant=False)
    assert exact.parameters == lowered({}, tolerant=False).parameters


def test_schedule_rejects_choice_without_kernel() -> None:
    with pytest.raises(BuildError, match=rf"the schedule gives '{LAYER}' F\(6, 2\)"):
        lowered({LAYER: {"outputs": 6, "taps": 2, "tiles": 3}})
