"""CPUs, by LLVM's names. Vector widths follow from their features."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from typing import Any

from kokoro_tvm.common.cpu_features import (
    AMX,
    ARM,
    BFLOAT16,
    CPUINFO,
    FEATURES,
    FLOAT16,
    RISCV,
    X86,
    features_of_cpu,
)
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.common.features import Features
from kokoro_tvm.common.platforms import WEB, Platform, parse_triple
from kokoro_tvm.targets.base import Machine, TargetKind
from kokoro_tvm.targets.cpu import LlvmTarget
from kokoro_tvm.targets.cpu_tools import CpuTools

# (LLVM feature, float32 lanes, vector registers): the first feature that a CPU has decides. On RISC-V, "v"
# means vectors of at least 128 bits, "d" none. WebAssembly has no fixed number of registers: with tiles for
# 16, V8 spills on x86-64.
_VECTOR_FEATURES = (
    *(("avx512f", 16, 32), ("avx2", 8, 16), ("neon", 4, 32), ("sse2", 4, 16)),
    *(("v", 4, 32), ("d", 1, 32), ("simd128", 4, 12)),
)
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
# Extensions of RISC-V that LLVM derives from the letters of RISCV.
_DERIVED = {"i", "zaamo", "zalrsc", "zca", "zcd", "zicsr", "zifencei", "zmmul"}
_DERIVED |= {"zve32f", "zve32x", "zve64d", "zve64f", "zve64x", "zvl32b", "zvl64b", "zvl128b"}
_EXTENSION = re.compile(r"[a-z]|[xz][a-z0-9]+")
# More options of the code generator: the ABI of floats, which the triple leaves open; the vector width, which
# LLVM does not report.
_OPTIONS: Mapping[str, Mapping[str, Any]] = {"riscv64": {"mabi": "lp64d"}, "wasm32": {"vector-width": 128}}


class Llvm(TargetKind):
    """CPUs."""

    spec = LlvmTarget
    precisions = ("float32", "bfloat16", "float16")

    def describe(self, spec: LlvmTarget) -> str:
        """Return kind and CPU name."""
        return f"{spec.kind} {spec.mcpu}"

    def resolve(self, spec: LlvmTarget, precision: str) -> Machine:
        """Resolve a CPU; `native` is the CPU of this machine.

        Raises:
            BuildError: The CPU lacks the instructions that the precision needs.
        """
        from tvm.target import codegen

        triple = spec.mtriple or str(codegen.llvm_get_system_triple())
        cpu = str(codegen.llvm_get_system_cpu()) if spec.mcpu == "native" else spec.mcpu
        attributes = tuple(spec.mattr)
        # LLVM derives features from a CPU's name, and a hypervisor may report another name: add what the
        # native CPU has beyond its name, remove what is hidden.
        if spec.mcpu == "native" and (available := features_of_cpu()) is not None:
            named = _list_features(triple, cpu, ())
            beyond = [
                name for name in FEATURES[parse_triple(triple).architecture] if name in available - {*named}
            ]
            hidden = [name for name in named if name not in available]
            attributes = (*(f"+{name}" for name in beyond), *(f"-{name}" for name in hidden), *attributes)
        required = _list_features(triple, cpu, attributes)
        if precision == "bfloat16" and BFLOAT16 not in required:
            raise BuildError(
                f"precision bfloat16 needs the CPU feature {BFLOAT16}, which {cpu} ({triple}) lacks: in the "
                f"recipe's target, name a CPU that has it (znver4, sapphirerapids, or x86-64-v4 with mattr: "
                f"[+{BFLOAT16}]), or use a recipe of precision float32, such as `cpu`"
            )
        if precision == "float16" and not FLOAT16 & {*required}:
            raise BuildError(
                f"precision float16 needs a CPU that widens float16 ({' or '.join(sorted(FLOAT16))}), which "
                f"{cpu} ({triple}) does not: in the recipe's target, name one that does (x86-64-v3, "
                "cortex-a72), or use a recipe of precision float32, such as `cpu`"
            )
        if precision != "bfloat16" or not {*required} >= AMX:  # no kernel uses them then
            required = tuple(name for name in required if name not in AMX)
        lanes, registers = next(((n, r) for f, n, r in _VECTOR_FEATURES if f in required), (1, 16))
        options: dict[str, Any] = {"mtriple": triple, "mcpu": cpu, "mattr": list(attributes)}
        options |= _OPTIONS.get(parse_triple(triple).architecture, {})
        features = Features(
            lanes,
            registers,
            precision,
            by_lane="neon" in required,
            eager_memory=spec.platform == WEB,
            tiles={*required} >= AMX,
        )
        return Machine("llvm", options, features, required)

    def tvm(self, machine: Machine) -> Any:
        """Return TVM's Target for a machine."""
        return _tvm_target(machine.options)

    def tools(self, spec: LlvmTarget) -> CpuTools:
        """Return the tools for CPUs."""
        return CpuTools(spec)

    def platform(self, spec: LlvmTarget) -> Platform:
        """Return architecture and operating system."""
        return spec.platform

    def show(self, machine: Machine) -> dict[str, str]:
        """Return CPU, triple and vectors for a page."""
        features = machine.features
        return {
            "CPU": machine.options["mcpu"],
            "triple": machine.options["mtriple"],
            "vectors": f"{features.lanes} lanes of float32, {features.registers} registers",
        }

    def facts(self, spec: LlvmTarget) -> dict[str, Any]:
        """Return the identity of this machine's CPU if the target is `native`."""
        return {"cpu": _identify_cpu() if spec.mcpu == "native" else None}


KIND = Llvm()


def native() -> Machine:
    """Return the machine that this process runs on."""
    return KIND.resolve(LlvmTarget(kind="llvm", mcpu="native"), "float32")


def _list_features(triple: str, cpu: str, mattr: Sequence[str]) -> tuple[str, ...]:
    """List the features of the architecture's table that the compiler may use."""
    from tvm.target import codegen

    target = _tvm_target({"mtriple": triple, "mcpu": cpu, "mattr": list(mattr)})
    cpu_features = {str(feature) for feature in codegen.llvm_get_cpu_features(target)}
    architecture = parse_triple(triple).architecture
    table = FEATURES.get(architecture, X86 if "sse2" in cpu_features else ARM)
    if architecture == "riscv64":
        _check_riscv(cpu, cpu_features)
    return tuple(name for name in table if name in cpu_features)


def _check_riscv(cpu: str, cpu_features: set[str]) -> None:
    """Raise BuildError for extensions that no runtime checks, or for a CPU without the ABI's floats."""
    unknown = [n for n in sorted(cpu_features - _DERIVED - RISCV.keys()) if _EXTENSION.fullmatch(n)]
    if unknown:
        raise BuildError(
            f"{cpu} has {', '.join(unknown)}, and no bundle can be refused where that is missing: remove it "
            f"in the recipe's target (mattr: [-{unknown[0]}]), or name another CPU"
        )
    if "d" not in cpu_features:
        raise BuildError(
            f"{cpu} lacks d, by which the ABI {_OPTIONS['riscv64']['mabi']} passes floats: name a CPU that "
            "has it (sifive-u74), or add it in the recipe's target (mattr: [+m, +a, +f, +d, +c])"
        )


def _tvm_target(options: Mapping[str, Any]) -> Any:
    """Return TVM's Target for LLVM, without the options that are empty."""
    import tvm

    return tvm.target.Target({"kind": "llvm"} | {key: value for key, value in options.items() if value})


def _identify_cpu() -> dict[str, Any]:
    """Return what identifies this CPU, without the compiler."""
    if not CPUINFO.is_file():  # not Linux
        return {"machine": platform.machine(), "processor": platform.processor()}
    lines = CPUINFO.read_text(encoding="utf-8").splitlines()
    entries = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return {key: entries.get(key, "") for key in _IDENTITY}
