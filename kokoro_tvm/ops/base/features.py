"""What a kernel may use of the machine it is compiled for; never the machine's name."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NO_KERNELS", "Features"]


@dataclass(frozen=True)
class Features:
    """lanes: float32 values in one vector register; registers: how many such registers there are; precision:
    of the operands where a layer tolerates rounding, a name of `ops.cpu.operand.OPERANDS`; kernels: which
    kernels by hand the machine can run ("cpu"), None: none, so that every operation is decomposed."""

    lanes: int
    registers: int
    precision: str = "float32"
    kernels: str | None = "cpu"


NO_KERNELS = Features(lanes=1, registers=16, kernels=None)
"""Of a machine that nobody wrote kernels for."""
