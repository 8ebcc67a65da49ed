"""From a recipe's target to the machine code is made for: CPU and triple by name, vector features by LLVM's
word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import tvm
from tvm.target import codegen

from kokoro_tvm.cpu_features import ARM, X86, features_of_cpu
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
_BFLOAT16 = "avx512bf16"


def resolve(mcpu: str, mtriple: str | None, mattr: Sequence[str], precision: str = "float32") -> Machine:
    """The machine a recipe's target means; `native` is the one this runs on.

    LLVM goes by a CPU's name; what a hypervisor hides of the native one is taken away. Raises BuildError for
    a CPU that LLVM does not know, and for one without the instruction that the precision needs.
    """
    triple = mtriple or str(codegen.llvm_get_system_triple())
    cpu = str(codegen.llvm_get_system_cpu()) if mcpu == "native" else mcpu
    if not codegen.llvm_is_valid_cpu(cpu, triple):
        raise BuildError(
            f"LLVM knows no CPU {cpu!r} for {triple}: `llc -mtriple={triple} -mcpu=help` lists them"
        )
    attributes = tuple(mattr)
    had = _features(triple, cpu, attributes)
    if mcpu == "native" and (there := features_of_cpu()) is not None:
        attributes += tuple(f"-{name}" for name in had if name not in there)
        had = _features(triple, cpu, attributes)
    bfloat16 = precision == "bfloat16"
    if bfloat16 and _BFLOAT16 not in had:
        raise BuildError(
            f"precision bfloat16 needs the CPU feature {_BFLOAT16}, which {cpu} ({triple}) lacks: in the "
            f"recipe's target, name a CPU that has it (znver4, sapphirerapids, or x86-64-v4 with mattr: "
            f"[+{_BFLOAT16}]), or use a recipe of precision float32, such as `cpu`"
        )
    lanes, registers = next(((n, r) for f, n, r in _VECTOR_FEATURES if f in had), (1, 16))
    return Machine(triple, cpu, attributes, Features(lanes, registers, bfloat16), had)


def tvm_target(machine: Machine) -> Any:
    """The same as TVM's Target."""
    return tvm.target.Target(_target(machine.mtriple, machine.mcpu, machine.mattr))


def _features(triple: str, cpu: str, mattr: Sequence[str]) -> tuple[str, ...]:
    """Which of X86 and ARM the compiler may use, in their order."""
    told = {str(f) for f in codegen.llvm_get_cpu_features(tvm.target.Target(_target(triple, cpu, mattr)))}
    table = X86 if "sse2" in told else ARM
    return tuple(name for name in table if name in told)


def _target(triple: str, cpu: str, mattr: Sequence[str]) -> dict[str, Any]:
    target: dict[str, Any] = {"kind": "llvm", "mtriple": triple, "mcpu": cpu}
    return target | ({"mattr": list(mattr)} if mattr else {})
