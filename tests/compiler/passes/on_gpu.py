"""Lowering for a GPU."""

from __future__ import annotations

from functools import cache
from typing import Any

import tvm
from kernels.on_gpu import GPUS
from lowering import MACHINE, lowered_program, program

from kokoro_tvm.targets import Machine, tvm_target

__all__ = ["GPU", "TARGET", "kernels", "phases"]

GPU = Machine("cuda", {**MACHINE.options, "arch": ["sm_90"]}, GPUS["cuda"].features)
TARGET = tvm_target(GPU)


@cache
def phases(component: str, policy: str) -> dict[str, Any]:
    """Return the module of a toy component after every pass."""
    modules: dict[str, Any] = {}
    lowered_program(program(component, policy), component, machine=GPU, dump=modules.__setitem__)
    return modules


def kernels(module: Any) -> dict[str, Any]:
    """Return its TIR functions by name."""
    return {
        variable.name_hint: function
        for variable, function in module.functions.items()
        if isinstance(function, tvm.tirx.PrimFunc)
    }
