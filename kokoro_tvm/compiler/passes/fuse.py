"""Pass: fuse neighbouring plain operations into one loop and turn reshapes into views.

Semantic operations stay separate. Runs before select_kernels: TVM's reshape analysis expects schedulable
blocks, which kernels do not have.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from kokoro_tvm.compiler.passes import LoweringContext


def apply(module: Any, context: LoweringContext) -> Any:
    """Fuse the plain operations of a module."""
    passes = [
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
        relax.transform.DeadCodeElimination(),
        relax.transform.RewriteDataflowReshape(),
    ]
    with context.target:
        return tvm.transform.Sequential(passes)(module)
