"""Lowers what is left of Relax to instructions of the virtual machine."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from kokoro_tvm.passes._context import LoweringContext

__all__ = ["apply"]


def apply(module: Any, context: LoweringContext) -> Any:
    passes = [
        relax.transform.LowerRuntimeBuiltin(),
        relax.transform.ComputePrimValue(),
        relax.transform.VMShapeLower(),
        relax.transform.AttachGlobalSymbol(),
    ]
    with context.target:
        return tvm.transform.Sequential(passes)(module)
