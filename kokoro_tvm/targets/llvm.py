"""CPUs, by LLVM's names for them; vector widths follow from their features."""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from kokoro_tvm.cpu_features import ARM, PORTABLE, X86, features_of_cpu
from kokoro_tvm.errors import BuildError
from kokoro_tvm.runners.local import LOCAL
from kokoro_tvm.spec import CpuFeature, CpuName, TargetSpec, Triple, distinct
from kokoro_tvm.targets.base import Machine, TargetKind
from kokoro_tvm.toolchains.gnu import GNU
from kokoro_tvm.words import nearest

if TYPE_CHECKING:
    from kokoro_tvm.runners import Runner
    from kokoro_tvm.toolchains import Toolchain

__all__ = ["KIND", "LlvmTarget", "native"]

# Vector width follows from the first of these a CPU has: (LLVM feature, float32 lanes, vector registers).
_VECTOR_FEATURES = (("avx512f", 16, 32), ("avx2", 8, 16), ("neon", 4, 32), ("sse2", 4, 16))
_BFLOAT16 = "avx512bf16"
_IDENTITY = (
    "vendor_id",
    "cpu family",
    "model",
    "stepping",
    "flags",
    "CPU implementer",
    "CPU part",
    "Features",
)
_ARCHITECTURES = {"AMD64": "x86_64", "arm64": "aarch64"}  # other words for LLVM's
_SYSTEMS = {"darwin": ("darwin", "macos")}  # as triples name them, where that is another word


class LlvmTarget(TargetSpec):
    """A CPU, compiled for by TVM's LLVM and linked with the C++ compiler of the machine that builds."""

    kind: Literal["llvm"] = Field(description="Kind of target: `llvm` for CPUs.")
    mcpu: CpuName = Field(
        description="The CPU by LLVM's name (`znver5`, `apple-m1`), or `native`: the CPU of the machine that "
        "builds."
    )
    mtriple: Triple | None = Field(
        default=None,
        description="LLVM target triple, such as `aarch64-linux-gnu`; null is that of the machine that "
        "builds. `native` takes no triple.",
    )
    mattr: Annotated[tuple[CpuFeature, ...], AfterValidator(distinct)] = Field(
        default=(),
        description="CPU features to add (`+avx512f`) or to remove (`-sse4a`).",
    )

    @model_validator(mode="after")
    def _native_is_here(self) -> LlvmTarget:
        if self.mcpu != "native" and nearest(self.mcpu, ["native"]) and abs(len(self.mcpu) - 6) < 2:
            context = {"what": "CPU", "word": self.mcpu, "valid": ["native"], "key": "mcpu"}
            raise PydanticCustomError("unknown_word", "unknown CPU {word}", context)
        if self.mcpu == "native" and self.mtriple is not None:
            raise PydanticCustomError(
                "native_triple",
                "native is the machine that builds: name the CPU where a triple is given",
                {"key": "mcpu"},
            )
        return self


class Llvm(TargetKind):
    """CPUs."""

    spec = LlvmTarget

    def describe(self, spec: LlvmTarget) -> str:
        return f"{spec.kind} {spec.mcpu}"

    def resolve(self, spec: LlvmTarget, precision: str) -> Machine:
        """`native` is the CPU this runs on.

        LLVM goes by a CPU's name; what a hypervisor hides of the native one is taken away. Raises BuildError
        for a CPU that LLVM does not know, and for one without the instruction that the precision needs.
        """
        from tvm.target import codegen

        from kokoro_tvm.ops.base.features import Features  # torch comes with it

        triple = spec.mtriple or str(codegen.llvm_get_system_triple())
        cpu = str(codegen.llvm_get_system_cpu()) if spec.mcpu == "native" else spec.mcpu
        if not codegen.llvm_is_valid_cpu(cpu, triple):
            raise BuildError(
                f"LLVM knows no CPU {cpu!r} for {triple}: `llc -mtriple={triple} -mcpu=help` lists them"
            )
        attributes = tuple(spec.mattr)
        required = _features(triple, cpu, attributes)
        if spec.mcpu == "native" and (there := features_of_cpu()) is not None:
            attributes += tuple(f"-{name}" for name in required if name not in there)
            required = _features(triple, cpu, attributes)
        if precision == "bfloat16" and _BFLOAT16 not in required:
            raise BuildError(
                f"precision bfloat16 needs the CPU feature {_BFLOAT16}, which {cpu} ({triple}) lacks: in the "
                f"recipe's target, name a CPU that has it (znver4, sapphirerapids, or x86-64-v4 with mattr: "
                f"[+{_BFLOAT16}]), or use a recipe of precision float32, such as `cpu`"
            )
        lanes, registers = next(((n, r) for f, n, r in _VECTOR_FEATURES if f in required), (1, 16))
        options = {"mtriple": triple, "mcpu": cpu, "mattr": list(attributes)}
        return Machine("llvm", options, Features(lanes, registers, precision), required)

    def tvm(self, machine: Machine) -> Any:
        return _tvm_target(machine.options)

    def toolchain(self, spec: LlvmTarget) -> Toolchain:
        return GNU

    def runner(self, spec: LlvmTarget) -> Runner | None:
        """This process, for code of this machine's architecture and operating system."""
        if spec.mtriple is None:
            return LOCAL
        architecture, *others = spec.mtriple.split("-")
        here, system = _llvm_word(platform.machine()), platform.system().lower()
        of_system = any(word.startswith(_SYSTEMS.get(system, (system,))) for word in others)
        return LOCAL if _llvm_word(architecture) == here and of_system else None

    def runtime_library(self, spec: LlvmTarget) -> Path | None:
        """That of the installed TVM, for this machine's architecture and operating system."""
        return _runtime_library() if self.runner(spec) is LOCAL else None

    def show(self, machine: Machine) -> dict[str, str]:
        features = machine.features
        return {
            "CPU": machine.options["mcpu"],
            "triple": machine.options["mtriple"],
            "vectors": f"{features.lanes} lanes of float32, {features.registers} registers",
        }

    def facts(self, spec: LlvmTarget) -> dict[str, Any]:
        return {"cpu": _cpu() if spec.mcpu == "native" else None}

    def lacking(self, spec: LlvmTarget, precision: str) -> tuple[str, ...]:
        """What a level, an added feature or the precision needs is known; what a CPU's name means, LLVM
        knows."""
        there = features_of_cpu()
        if there is None:
            return ()
        needed = set(PORTABLE.get(spec.mcpu, ()))
        needed |= {_BFLOAT16} if precision == "bfloat16" else set()
        for word in spec.mattr:
            name = word[1:]
            if word[0] == "-":
                needed.discard(name)
            elif name in X86 or name in ARM:  # others are habits of LLVM, such as prefer-256-bit
                needed.add(name)
        return tuple(sorted(needed - there))


KIND = Llvm()


def native() -> Machine:
    """The machine this runs on."""
    return KIND.resolve(LlvmTarget(kind="llvm", mcpu="native"), "float32")


def _runtime_library() -> Path:
    """`libtvm_runtime` of the installed TVM, found without importing it. Raises BuildError."""
    package = importlib.util.find_spec("tvm")
    folders = package.submodule_search_locations if package else None
    for library in sorted(path for f in folders or () for path in Path(f, "lib").glob("*tvm_runtime.*")):
        return library
    raise BuildError("no runtime library of TVM is installed: `pip install -e '.[build]'` brings apache-tvm")


def _llvm_word(architecture: str) -> str:
    return _ARCHITECTURES.get(architecture, architecture)


def _features(triple: str, cpu: str, mattr: Sequence[str]) -> tuple[str, ...]:
    """Which of X86 and ARM the compiler may use, in their order."""
    from tvm.target import codegen

    target = _tvm_target({"mtriple": triple, "mcpu": cpu, "mattr": list(mattr)})
    found = {str(feature) for feature in codegen.llvm_get_cpu_features(target)}
    table = X86 if "sse2" in found else ARM
    return tuple(name for name in table if name in found)


def _tvm_target(options: Mapping[str, Any]) -> Any:
    import tvm

    return tvm.target.Target({"kind": "llvm"} | {key: value for key, value in options.items() if value})


def _cpu(cpuinfo: Path = Path("/proc/cpuinfo")) -> dict[str, Any]:
    """What tells this CPU from another, without asking the compiler."""
    if not cpuinfo.is_file():  # not Linux
        return {"machine": platform.machine(), "processor": platform.processor()}
    lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    entries = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return {key: entries.get(key, "") for key in _IDENTITY}
