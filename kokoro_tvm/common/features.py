"""What a kernel may use of the machine it is compiled for; never the machine's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

__all__ = ["Features", "Workgroup"]


@dataclass(frozen=True)
class Workgroup:
    """Limits of a GPU's workgroups. threads: how many one may have; shared_bytes: of the memory they
    share."""

    threads: int
    shared_bytes: int


@dataclass(frozen=True)
class Features:
    """lanes: float32 values in one vector register; registers: how many such registers there are; precision:
    of the operands where a layer tolerates rounding, a name of `kernels.cpu.operand.OPERANDS`; kernels: which
    kernels the machine can run, "cpu" or "gpu"; by_lane: whether a multiplication takes one lane of a
    register as its factor, for all lanes (NEON), so that values are better read as whole vectors than spread
    while they are read; eager_memory: whether memory costs as soon as it is reserved, rather than when it is
    touched; tiles: whether there are registers of 16 rows of 16 lanes that multiply pairs of bfloat16 (AMX);
    matrices: whether a GPU's subgroups multiply matrices of float16 and add up float32 (tensor cores);
    workgroup: of a GPU."""

    lanes: int
    registers: int
    precision: str = "float32"
    kernels: str = "cpu"
    by_lane: bool = False
    eager_memory: bool = False
    tiles: bool = False
    matrices: bool = False
    workgroup: Workgroup | None = None

    def to_json(self) -> dict[str, Any]:
        """Without what a machine lacks, so that a new ability changes no other's keys."""
        data = asdict(self)
        absent = [f.name for f in fields(self) if f.default in (False, None) and not data[f.name]]
        return {name: value for name, value in data.items() if name not in absent}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Features:
        workgroup = data.get("workgroup")
        return cls(**{**data, "workgroup": Workgroup(**workgroup) if workgroup else None})
