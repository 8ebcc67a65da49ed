"""Pass: lower the remaining plain operations (sums, concatenations, look-ups) to TIR."""

from __future__ import annotations

from typing import Any

from tvm import relax, topi

from kokoro_tvm.compiler.passes import LoweringContext


def apply(module: Any, context: LoweringContext) -> Any:
    """Legalize the operations of a module."""
    with context.target:
        return relax.transform.LegalizeOps({"relax.arange": _arange})(module)


def _arange(builder: Any, call: Any) -> Any:
    """Replace an arange by a kernel that counts at run time."""
    # For static lengths TVM's own rule makes a constant, which every library would keep and which TVM 0.27
    # crashes on when it prints the module.
    return builder.call_te(topi.arange, *call.args, call.attrs.dtype)
