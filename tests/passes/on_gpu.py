"""Lowering for a GPU, without a recipe's target."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import tvm
from lowering import lowered_program, program
from ops.on_gpu import GPUS

from kokoro_tvm.compiler import lower

__all__ = ["kernels", "phases"]

TARGET = tvm.target.Target({"kind": "cuda", "arch": "sm_90"}, {"kind": "llvm"})


@cache
def phases(component: str, policy: str) -> dict[str, Any]:
    """The module of a toy component after every pass."""
    found: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lower, "tvm_target", lambda machine: TARGET)
        lowered_program(program(component, policy), component, machine=GPUS["cuda"], dump=found.__setitem__)
    return found


def kernels(module: Any) -> dict[str, Any]:
    """Its TIR functions, by name."""
    return {
        variable.name_hint: function
        for variable, function in module.functions.items()
        if isinstance(function, tvm.tirx.PrimFunc)
    }
