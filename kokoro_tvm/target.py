"""From a recipe's target to the machine code is made for: CPU and triple by name, vector features by LLVM's
word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import tvm
from tvm.target import codegen

from kokoro_tvm.errors import BuildError
from kokoro_tvm.ops._features import Features

__all__ = ["Machine", "resolve", "tvm_target"]


@dataclass(frozen=True)
class Machine:
    """A fully named target; `required` are the CPU features a machine must have to run the code."""

    mtriple: str
    mcpu: str
    mattr: tuple[str, ...]
    features: Features
    required: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"kind": "llvm", **asdict(self)}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Machine:
        features = Features(**told["features"])
        return cls(told["mtriple"], told["mcpu"], tuple(told["mattr"]), features, tuple(told["required"]))


# Vector width follows from the first of these a CPU has: (LLVM feature, float32 lanes, vector registers).
_VECTOR_FEATURES = (("avx512f", 16, 32), ("avx2", 8, 16), ("neon", 4, 32), ("sse2", 4, 16))
_RELEVANT = ("avx512f", "avx512bw", "avx512vl", "avx512dq", "avx2", "fma", "f16c", "neon", "sse2")


def resolve(mcpu: str, mtriple: str | None, mattr: Sequence[str]) -> Machine:
    """The machine a recipe's target means; `native` is the one this runs on. Raises BuildError for what LLVM
    lacks."""
    triple = mtriple or str(codegen.llvm_get_system_triple())
    cpu = str(codegen.llvm_get_system_cpu()) if mcpu == "native" else mcpu
    if not codegen.llvm_is_valid_cpu(cpu, triple):
        raise BuildError(
            f"LLVM knows no CPU {cpu!r} for {triple}: `llc -mtriple={triple} -mcpu=help` lists them"
        )
    target = tvm.target.Target(_target(triple, cpu, mattr))
    had = [f for f in _RELEVANT if codegen.llvm_cpu_has_features([f], target)]
    lanes, registers = next(((n, r) for f, n, r in _VECTOR_FEATURES if f in had), (1, 16))
    return Machine(triple, cpu, tuple(mattr), Features(lanes, registers), tuple(had))


def tvm_target(machine: Machine) -> Any:
    """The same as TVM's Target."""
    return tvm.target.Target(_target(machine.mtriple, machine.mcpu, machine.mattr))


def _target(triple: str, cpu: str, mattr: Sequence[str]) -> dict[str, Any]:
    target: dict[str, Any] = {"kind": "llvm", "mtriple": triple, "mcpu": cpu}
    return target | ({"mattr": list(mattr)} if mattr else {})
