"""Features of a machine that kernels choose by; kernels never ask for the machine's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Workgroup:
    """Limits of a GPU's workgroups.

    Attributes:
        threads: Threads per workgroup.
        shared_bytes: Bytes of shared memory per workgroup.
    """

    threads: int
    shared_bytes: int


@dataclass(frozen=True)
class Features:
    """Features of a machine.

    Attributes:
        lanes: float32 values per vector register.
        registers: Number of vector registers.
        precision: Precision of operands of layers that tolerate rounding, a name of
            `kernels.cpu.operand.OPERANDS`.
        kernels: Kind of kernels that the machine runs, "cpu" or "gpu".
        by_lane: A multiplication can take one lane of a register as its factor for all lanes (NEON), so that
            loading whole vectors is faster than broadcasting single values.
        eager_memory: Memory costs when it is reserved, not when it is touched.
        tiles: There are tile registers, 16 rows of 16 lanes, that multiply pairs of bfloat16 (AMX).
        matrices: Subgroups of a GPU multiply matrices of float16 and accumulate in float32 (tensor cores).
        workgroup: Limits of a GPU's workgroups; None for CPUs.
    """

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
        """Return the features that the machine has; a new feature then changes no key of other machines."""
        data = asdict(self)
        absent = [f.name for f in fields(self) if f.default in (False, None) and not data[f.name]]
        return {name: value for name, value in data.items() if name not in absent}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Features:
        """Return the features that `to_json` returned."""
        workgroup = data.get("workgroup")
        return cls(**{**data, "workgroup": Workgroup(**workgroup) if workgroup else None})
