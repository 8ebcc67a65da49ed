"""How fast this machine multiplies and adds: `python -m kokoro_tvm.tools.bench.peak`, the ceiling of
kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from kokoro_tvm.kernels.cpu.operand import BFLOAT16
from kokoro_tvm.targets.llvm import native
from kokoro_tvm.tools.bench.serve import Answers, serve
from kokoro_tvm.validation.measure.peak import FLOAT32, Arithmetic, Loop

__all__ = ["loops", "opened"]

# sum + 0.5 * 0.5 + 0.5 * 0.5, four FLOPs.
_BFLOAT16 = Arithmetic(np.full(2, 0x3F003F00, np.int32), 4, BFLOAT16.multiply_add, BFLOAT16.instructions)


def loops(threads: int) -> dict[str, Loop]:
    """By precision: "float32", and "bfloat16" (float32 sums) where the CPU multiplies it."""
    machine = native()
    kinds = {"float32": FLOAT32}
    if "avx512bf16" in machine.required:
        kinds["bfloat16"] = _BFLOAT16
    return {precision: Loop(machine, threads, kind) for precision, kind in kinds.items()}


def opened(request: dict[str, Any]) -> tuple[dict[str, Any], Answers]:
    """The request has the number of threads; those that follow are answered with FLOP/s by precision, of all
    threads together, the best of a few short turns."""
    found = loops(request["threads"])
    return {}, lambda _: {precision: loop.flops_per_second() for precision, loop in found.items()}


if __name__ == "__main__":
    serve(opened)
