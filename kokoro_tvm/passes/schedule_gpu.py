"""Gives every plain operation a launch: TVM's default schedule, a thread for each element of the result.

Comes after fuse, which makes the functions, and before select_kernels, whose kernels have launches already.
Does nothing for machines whose kernels are not for GPUs.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import tirx
from tvm.s_tir import dlight

from kokoro_tvm.passes import LoweringContext

__all__ = ["apply"]


def apply(module: Any, context: LoweringContext) -> Any:
    workgroup = context.features.workgroup
    if context.features.kernels != "gpu" or workgroup is None:
        return module
    passes = [
        dlight.ApplyDefaultSchedule(dlight.gpu.Fallback()),
        tvm.s_tir.transform.DefaultGPUSchedule(),
        tirx.transform.ForceNarrowIndexToInt32(),  # last, for the schedules make indices too
    ]
    # TVM has limits of its own for every kind of GPU.
    limits = {"max_num_threads": workgroup.threads}
    with tvm.target.Target(dict(context.target.export()) | limits):
        # A copy, for ApplyDefaultSchedule changes what it is given.
        return tvm.transform.Sequential(passes)(module.clone())
