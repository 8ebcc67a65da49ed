"""Turns the plain operations that remain (sums, concatenations, look-ups) into TIR."""

from __future__ import annotations

from typing import Any

from tvm import relax

from kokoro_tvm.passes._context import LoweringContext

__all__ = ["apply"]


def apply(module: Any, context: LoweringContext) -> Any:
    with context.target:
        return relax.transform.LegalizeOps()(module)
