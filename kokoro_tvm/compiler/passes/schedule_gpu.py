"""Pass: schedule every plain operation with TVM's default GPU schedule, a thread per element of the result.

Runs after fuse, which creates the functions, and before select_kernels, whose kernels have launches already.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import tirx
from tvm.s_tir import dlight

from kokoro_tvm.compiler.passes import LoweringContext


def apply(module: Any, context: LoweringContext) -> Any:
    """Schedule the TIR functions of a module; do nothing for machines without GPU kernels."""
    workgroup = context.features.workgroup
    if context.features.kernels != "gpu" or workgroup is None:
        return module
    passes = [
        dlight.ApplyDefaultSchedule(dlight.gpu.Fallback()),
        tvm.s_tir.transform.DefaultGPUSchedule(),
        tirx.transform.ForceNarrowIndexToInt32(),  # last, because schedules add indices
    ]
    # TVM has its own limits for every kind of GPU.
    limits = {"max_num_threads": workgroup.threads}
    with tvm.target.Target(dict(context.target.export()) | limits):
        # A copy, because ApplyDefaultSchedule changes its argument.
        return tvm.transform.Sequential(passes)(module.clone())
