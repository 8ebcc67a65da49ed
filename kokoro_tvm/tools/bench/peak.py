"""Measure the machine's peak rate of multiply-adds: `python -m kokoro_tvm.tools.bench.peak`."""

from __future__ import annotations

from typing import Any

import numpy as np

from kokoro_tvm.kernels.cpu.operand import BFLOAT16
from kokoro_tvm.targets.llvm import native
from kokoro_tvm.tools.bench.worker import Respond, serve
from kokoro_tvm.validation.measure.peak import FLOAT32, Arithmetic, Loop

# sum + 0.5 * 0.5 + 0.5 * 0.5, four FLOPs.
_BFLOAT16 = Arithmetic(np.full(2, 0x3F003F00, np.int32), 4, BFLOAT16.multiply_add, BFLOAT16.instructions)


def build_loops(threads: int) -> dict[str, Loop]:
    """Build a loop by precision: "float32", and "bfloat16" (float32 sums) if the CPU multiplies it."""
    machine = native()
    kinds = {"float32": FLOAT32}
    if "avx512bf16" in machine.required:
        kinds["bfloat16"] = _BFLOAT16
    return {precision: Loop(machine, threads, kind) for precision, kind in kinds.items()}


def open_meter(request: dict[str, Any]) -> tuple[dict[str, Any], Respond]:
    """Build loops of the requested threads; later requests are answered with FLOP/s by precision."""
    loops = build_loops(request["threads"])
    return {}, lambda _: {precision: loop.flops_per_second() for precision, loop in loops.items()}


if __name__ == "__main__":
    serve(open_meter)
