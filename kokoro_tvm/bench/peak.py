"""How fast this machine multiplies and adds: `python -m kokoro_tvm.bench.peak`, the ceiling of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from kokoro_tvm.bench.serve import serve
from kokoro_tvm.measure.peak import FLOAT32, Arithmetic, Loop
from kokoro_tvm.ops.cpu.operand import BFLOAT16
from kokoro_tvm.targets.llvm import native

__all__ = ["Meter", "main"]

# sum + 0.5 * 0.5 + 0.5 * 0.5, four FLOPs.
_BFLOAT16 = Arithmetic(np.full(2, 0x3F003F00, np.int32), 4, BFLOAT16.multiply_add, BFLOAT16.instructions)


class Meter:
    """Measures FLOP/s by precision: "float32", and "bfloat16" (float32 sums) where the CPU multiplies it."""

    def __init__(self, threads: int) -> None:
        machine = native()
        kinds = {"float32": FLOAT32}
        if "avx512bf16" in machine.required:
            kinds["bfloat16"] = _BFLOAT16
        self._loops = {precision: Loop(machine, threads, kind) for precision, kind in kinds.items()}

    def measure(self) -> dict[str, float]:
        """FLOP/s of all threads together, the best of a few short turns."""
        return {precision: loop.flops_per_second() for precision, loop in self._loops.items()}


def main() -> None:
    meters: list[Meter] = []

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if meters:
            return meters[0].measure()
        meters.append(Meter(request["threads"]))
        return {}

    serve(answer)


if __name__ == "__main__":
    main()
