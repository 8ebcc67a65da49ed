"""What a kernel may use of the machine it is compiled for; never the machine's name."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Features"]


@dataclass(frozen=True)
class Features:
    """lanes: float32 values in one vector register; registers: how many such registers there are; bfloat16:
    whether operands may be rounded to bfloat16 and multiplied with float32 sums (AVX512-BF16)."""

    lanes: int
    registers: int
    bfloat16: bool = False
