"""Makes allocation explicit, reuses what static shapes allow, and frees every buffer after its last use."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from kokoro_tvm.passes._context import LoweringContext

__all__ = ["apply"]


def apply(module: Any, context: LoweringContext) -> Any:
    passes = [
        relax.transform.ToNonDataflow(),
        relax.transform.RemovePurityChecking(),
        relax.transform.CallTIRRewrite(),
        relax.transform.StaticPlanBlockMemory(),
        relax.transform.LowerAllocTensor(),
        relax.transform.KillAfterLastUse(),
    ]
    with context.target:
        return tvm.transform.Sequential(passes)(module)
