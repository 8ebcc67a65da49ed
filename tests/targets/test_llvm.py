from __future__ import annotations

import json
from pathlib import Path
from types import NoneType
from typing import Any

import pytest
import tvm
from machines import machine_of

from kokoro_tvm.common.cpu_features import AMX, PORTABLE, features_of_cpu
from kokoro_tvm.common.cpu_features import ARM as ARM_FEATURES
from kokoro_tvm.common.cpu_features import X86 as X86_FEATURES
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.common.features import Features
from kokoro_tvm.native.toolchains import Toolchain
from kokoro_tvm.native.toolchains.gnu import GNU
from kokoro_tvm.native.toolchains.lld import ELF
from kokoro_tvm.native.toolchains.macho import MACHO
from kokoro_tvm.targets import (
    Machine,
    PinnedLibrary,
    cpu_tools,
    find_runner,
    target_kind,
    tools_for,
    tvm_target,
)
from kokoro_tvm.targets import llvm as target
from kokoro_tvm.targets.runners import Runner
from kokoro_tvm.targets.runners.local import LOCAL, Local
from kokoro_tvm.targets.runners.macho import MachORunner
from kokoro_tvm.targets.runners.qemu import Qemu
from kokoro_tvm.targets.runners.source.runner import EmulatedSource, SourceRunner
from kokoro_tvm.targets.runners.tiles import TILES

X86, ARM, RISCV = "x86_64-linux-gnu", "aarch64-linux-gnu", "riscv64-linux-gnu"
RV64GC = ("+m", "+a", "+f", "+d", "+c")


@pytest.mark.parametrize(
    ("mcpu", "triple", "mattr", "features"),
    [
        ("x86-64", X86, (), Features(4, 16)),
        ("x86-64-v3", X86, (), Features(8, 16)),
        ("haswell", X86, (), Features(8, 16)),
        ("x86-64-v4", X86, (), Features(16, 32)),
        ("znver5", X86, (), Features(16, 32)),
        ("znver5", X86, ("-avx512f",), Features(8, 16)),
        ("generic", ARM, (), Features(4, 32, by_lane=True)),
        ("cortex-a72", ARM, (), Features(4, 32, by_lane=True)),
        ("neoverse-v1", ARM, ("-sve",), Features(4, 32, by_lane=True)),
        ("apple-m1", "arm64-apple-macosx", (), Features(4, 32, by_lane=True)),
    ],
)
def test_resolve_derives_features_from_the_cpu(
    mcpu: str, triple: str, mattr: tuple[str, ...], features: Features
) -> None:
    machine = machine_of(mcpu, triple, mattr)
    assert machine.features == features
    assert machine.options == {"mcpu": mcpu, "mtriple": triple, "mattr": list(mattr)}


@pytest.mark.parametrize(
    ("mcpu", "mattr", "features"),
    [
        ("sifive-u74", (), Features(1, 32)),
        ("generic-rv64", RV64GC, Features(1, 32)),
        ("generic-rv64", (*RV64GC, "+v"), Features(4, 32)),
    ],
)
def test_resolve_sets_the_abi_of_riscv(mcpu: str, mattr: tuple[str, ...], features: Features) -> None:
    machine = machine_of(mcpu, RISCV, mattr)
    assert machine.features == features
    assert machine.required == tuple(word[1:] for word in mattr or RV64GC)
    assert machine.options == {"mcpu": mcpu, "mtriple": RISCV, "mattr": list(mattr), "mabi": "lp64d"}
    assert str(tvm_target(machine).attrs["mabi"]) == "lp64d"


@pytest.mark.parametrize(
    ("mcpu", "mattr", "reason"),
    [
        ("generic-rv64", (), "generic-rv64 lacks d, by which the ABI lp64d passes floats"),
        ("sifive-u74", ("+zba", "+zbb"), r"has zba, zbb, and no bundle can be refused .*mattr: \[-zba\]"),
    ],
)
def test_resolve_refuses_unchecked_riscv_extensions(mcpu: str, mattr: tuple[str, ...], reason: str) -> None:
    with pytest.raises(BuildError, match=reason):
        machine_of(mcpu, RISCV, mattr)


def test_required_features_have_llvms_names() -> None:
    assert machine_of("x86-64", X86, ()).required == ("sse2",)
    assert {"avx2", "fma", "bmi2", "movbe"} < set(machine_of("x86-64-v3", X86, ()).required)
    assert machine_of("generic", ARM, ()).required == ("fp-armv8", "neon")


@pytest.mark.parametrize("name", PORTABLE)
def test_required_features_of_a_level_are_the_levels(name: str) -> None:
    assert set(machine_of(name, X86, ()).required) == PORTABLE[name]


def test_required_features_include_implicit_ones() -> None:
    """LLVM uses these for rounding, rotations and sums of products by itself."""
    chosen = {"avx512bf16", "avx512vnni", "avx512vbmi2", "gfni", "avxvnni", "bmi2", "sse4a"}
    assert chosen < set(machine_of("znver5", X86, ()).required)
    assert not chosen & set(machine_of("znver5", X86, [f"-{name}" for name in chosen]).required)


def test_native_names_this_machine() -> None:
    machine = machine_of("native", None, ())
    assert machine.options["mcpu"] not in ("native", "")
    assert machine.options["mtriple"]
    assert machine == machine_of(**machine.options)


def test_native_code_runs_here() -> None:
    had = features_of_cpu()
    assert had is None or set(machine_of("native", None, ()).required) <= had


def test_native_adds_features_beyond_the_cpus_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some hypervisors give a server's CPU the model number of a desktop's, which has no bfloat16."""
    monkeypatch.setattr(target, "features_of_cpu", lambda: PORTABLE["x86-64-v4"] | {"avx512bf16"} | AMX)
    monkeypatch.setattr("tvm.target.codegen.llvm_get_system_cpu", lambda: "rocketlake")
    monkeypatch.setattr("tvm.target.codegen.llvm_get_system_triple", lambda: X86)
    machine = machine_of("native", None, (), "bfloat16")
    assert machine.features == Features(16, 32, "bfloat16", tiles=True)
    assert {*machine.required} == PORTABLE["x86-64-v4"] | {"avx512bf16"} | AMX
    narrow = machine_of("native", None, ("-avx512f",))
    assert {*narrow.required} == PORTABLE["x86-64-v3"], "what the recipe removes stays removed"


def test_native_removes_hidden_features(monkeypatch: pytest.MonkeyPatch) -> None:
    named = machine_of("native", None, ())
    hidden = [name for name in named.required if f"+{name}" not in named.options["mattr"]][-1]
    available = features_of_cpu() or frozenset(named.required)
    monkeypatch.setattr(target, "features_of_cpu", lambda: available - {hidden})
    machine = machine_of("native", None, ())
    gone = {*named.options["mattr"], f"-{hidden}"}
    table = X86_FEATURES if "sse2" in named.required else ARM_FEATURES
    removed = [word for word in machine.options["mattr"] if word.startswith("-")]
    assert removed == [word for name in table if (word := f"-{name}") in gone]
    assert hidden not in machine.required
    assert machine_of(**named.options).options == named.options, "only of the native one"


@pytest.mark.parametrize(
    ("mcpu", "mattr", "tiles"),
    [
        ("znver5", (), False),
        ("sapphirerapids", (), True),
        ("sapphirerapids", ("-amx-bf16",), False),
        ("x86-64-v4", ("+avx512bf16",), False),
        ("x86-64-v4", ("+avx512bf16", "+amx-tile", "+amx-bf16"), True),
    ],
)
def test_resolve_accepts_bfloat16_with_the_instruction(
    mcpu: str, mattr: tuple[str, ...], tiles: bool
) -> None:
    machine = machine_of(mcpu, X86, mattr, "bfloat16")
    assert machine.features == Features(16, 32, "bfloat16", tiles=tiles)
    assert "avx512bf16" in machine.required
    assert (AMX & {*machine.required} == AMX) is tiles, "what is not used is not required"
    assert not AMX & {*machine_of(mcpu, X86, mattr, "float32").required}
    assert machine_of(mcpu, X86, mattr, "float32").features == Features(16, 32)
    assert Machine.from_json(json.loads(json.dumps(machine.to_json()))) == machine


@pytest.mark.parametrize(
    ("mcpu", "triple", "mattr"),
    [("x86-64-v3", X86, ()), ("x86-64-v4", X86, ()), ("znver5", X86, ("-avx512f",)), ("generic", ARM, ())],
)
def test_resolve_refuses_bfloat16_without_the_instruction(
    mcpu: str, triple: str, mattr: tuple[str, ...]
) -> None:
    with pytest.raises(BuildError) as caught:
        machine_of(mcpu, triple, mattr, "bfloat16")
    for result in ("avx512bf16", mcpu, triple, "recipe's target", "float32", "`cpu`"):
        assert result in str(caught.value)


def test_machine_survives_json() -> None:
    machine = machine_of("haswell", X86, ("+f16c",))
    result = json.loads(json.dumps(machine.to_json()))
    assert Machine.from_json(result) == machine
    assert result["kind"] == "llvm"


def test_absent_ability_is_not_in_the_key() -> None:
    """A new ability must not rebuild what other machines have."""
    assert machine_of("x86-64-v3", X86, ()).to_json()["features"] == {
        "lanes": 8,
        "registers": 16,
        "precision": "float32",
        "kernels": "cpu",
    }
    machine = machine_of("cortex-a72", ARM, ())
    assert machine.to_json()["features"]["by_lane"] is True
    assert Machine.from_json(json.loads(json.dumps(machine.to_json()))) == machine


def test_tvm_accepts_the_target() -> None:
    usage = tvm_target(machine_of("haswell", X86, ("+f16c",)))
    assert isinstance(usage, tvm.target.Target)
    assert (str(usage.attrs["mcpu"]), list(usage.attrs["mattr"])) == ("haswell", ["+f16c"])


@pytest.mark.parametrize(
    ("machine", "system", "triple", "runs"),
    [
        ("x86_64", "Linux", None, True),
        ("x86_64", "Linux", "x86_64-linux-gnu", True),
        ("x86_64", "Linux", "x86_64-unknown-linux-gnu", True),
        ("x86_64", "Linux", "aarch64-linux-gnu", False),
        ("x86_64", "Linux", "x86_64-apple-macosx", False),
        ("x86_64", "Linux", "aarch64-pc-windows-msvc", False),
        ("AMD64", "Windows", "x86_64-pc-windows-msvc", True),
        ("aarch64", "Linux", "aarch64-linux-gnu", True),
        ("arm64", "Darwin", "arm64-apple-darwin23.1.0", True),
        ("arm64", "Darwin", "aarch64-apple-macosx14.0", True),
        ("arm64", "Darwin", "aarch64-linux-gnu", False),
    ],
)
def test_runner_is_this_process_for_native_code(
    machine: str, system: str, triple: str | None, runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target.platform, "machine", lambda: machine)
    monkeypatch.setattr(target.platform, "system", lambda: system)
    matches = find_runner({"kind": "llvm", "mcpu": "generic", "mtriple": triple})
    reason = "nothing on this machine runs code for llvm generic"
    assert matches == ((LOCAL, "") if runs else (None, reason))


@pytest.mark.parametrize(
    ("had", "precision", "runner", "missing"),
    [
        (AMX, "bfloat16", LOCAL, ()),
        (frozenset(), "bfloat16", TILES, ()),
        (frozenset(), "float32", TILES, ()),
        ({"amx-tile"}, "bfloat16", TILES, ()),
        (None, "bfloat16", LOCAL, ()),
    ],
)
def test_runner_emulates_amx_alone(
    had: frozenset[str] | None,
    precision: str,
    runner: Runner,
    missing: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    available = None if had is None else PORTABLE["x86-64-v4"] | {"avx512bf16"} | had
    monkeypatch.setattr(cpu_tools, "features_of_cpu", lambda: available)
    spec = target.LlvmTarget(kind="llvm", mcpu="x86-64-v4", mattr=("+avx512bf16", "+amx-tile", "+amx-bf16"))
    assert tools_for(spec).runner() is runner
    assert tools_for(spec).list_lacking_features(precision) == missing
    native = target.LlvmTarget(kind="llvm", mcpu="native")
    assert tools_for(native).runner() is LOCAL


MAC, MAC_CPU = ("arm64", "Darwin"), {"kind": "llvm", "mcpu": "apple-m1", "mtriple": "arm64-apple-macos11.0"}
EMULATED_MAC = MAC_CPU | {"emulate": "max"}
EMULATED_ARM = {"kind": "llvm", "mcpu": "cortex-a72", "mtriple": "aarch64-linux-gnu", "emulate": "cortex-a72"}


@pytest.mark.parametrize(
    ("host", "spec", "runner", "linker"),
    [
        (MAC, EMULATED_MAC, Local, MACHO),
        (MAC, MAC_CPU, Local, MACHO),
        (MAC, {"kind": "llvm", "mcpu": "apple-m1"}, Local, MACHO),
        (MAC, {"kind": "metal", "host": EMULATED_MAC}, Local, MACHO),
        (MAC, {"kind": "cuda", "host": MAC_CPU}, SourceRunner, MACHO),
        (MAC, EMULATED_ARM, Qemu, ELF),
        (MAC, EMULATED_MAC | {"run": False}, NoneType, MACHO),
        (("x86_64", "Linux"), EMULATED_MAC, MachORunner, MACHO),
        (("x86_64", "Linux"), {"kind": "metal", "host": EMULATED_MAC}, EmulatedSource, MACHO),
        (("x86_64", "Linux"), EMULATED_ARM, Qemu, ELF),
        (("aarch64", "Linux"), EMULATED_ARM, Qemu, GNU),
        (("aarch64", "Linux"), {"kind": "llvm", "mcpu": "cortex-a72"}, Local, GNU),
        (("aarch64", "Linux"), EMULATED_MAC, MachORunner, MACHO),
    ],
)
def test_runner_on_a_mac_is_local(
    host: tuple[str, str],
    spec: dict[str, Any],
    runner: type,
    linker: Toolchain,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """QEMU's user-mode emulation is of Linux, on Linux: there a recipe may name an older CPU."""
    machine, system = host
    monkeypatch.setattr(target.platform, "machine", lambda: machine)
    monkeypatch.setattr(target.platform, "system", lambda: system)
    kind = target_kind(spec["kind"])
    tools = kind.tools(kind.spec.model_validate(spec, strict=False))
    assert type(tools.runner()) is runner
    assert tools.toolchain() is linker


def test_runner_on_a_mac_uses_the_installed_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the loader of Mach-O files needs Linux' runtime."""
    spec = target.LlvmTarget.model_validate(EMULATED_MAC, strict=False)
    tools = tools_for(spec)
    assert all(isinstance(library, PinnedLibrary) for library in tools.runner_libraries().values())
    monkeypatch.setattr(target.platform, "machine", lambda: MAC[0])
    monkeypatch.setattr(target.platform, "system", lambda: MAC[1])
    matches = tools.runner_libraries()
    assert matches == tools.runtime_libraries()
    assert {role: isinstance(library, Path) for role, library in matches.items()} == {"runtime": True}


def test_local_runner_has_a_name() -> None:
    assert LOCAL.version() == "local"
