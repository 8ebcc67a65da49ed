"""Turns the plain operations that remain (sums, concatenations, look-ups) into TIR."""

from __future__ import annotations

from typing import Any

from tvm import relax, topi

from kokoro_tvm.passes import LoweringContext

__all__ = ["apply"]


def apply(module: Any, context: LoweringContext) -> Any:
    with context.target:
        return relax.transform.LegalizeOps({"relax.arange": _arange})(module)


def _arange(builder: Any, call: Any) -> Any:
    """Counts at run time. TVM's own rule makes a constant where the length is static, which cannot be written
    down (TVM 0.27 crashes printing it), and which would be kept in every library."""
    return builder.call_te(topi.arange, *call.args, call.attrs.dtype)
