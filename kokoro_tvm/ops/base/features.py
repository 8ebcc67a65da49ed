"""What a kernel may use of the machine it is compiled for; never the machine's name."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["NO_KERNELS", "Features"]


@dataclass(frozen=True)
class Features:
    """lanes: float32 values in one vector register; registers: how many such registers there are; precision:
    of the operands where a layer tolerates rounding, a name of `ops.cpu.operand.OPERANDS`; kernels: which
    kernels by hand the machine can run ("cpu"), None: none, so that every operation is decomposed; by_lane:
    whether a multiplication takes one lane of a register as its factor, for all lanes (NEON), so that values
    are better read as whole vectors than spread while they are read."""

    lanes: int
    registers: int
    precision: str = "float32"
    kernels: str | None = "cpu"
    by_lane: bool = False

    def to_json(self) -> dict[str, Any]:
        """For `Features(**data)`; without what a machine lacks, so that a new ability changes no other's
        keys."""
        return {name: value for name, value in asdict(self).items() if value is not False}


NO_KERNELS = Features(lanes=1, registers=16, kernels=None)
"""Of a machine that nobody wrote kernels for."""
