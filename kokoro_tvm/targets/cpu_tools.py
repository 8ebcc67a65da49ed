"""What links and runs code for CPUs here, and the TVM runtime of their platforms."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kokoro_tvm.common.cpu_features import AMX, BFLOAT16, FEATURES, PORTABLE, features_of_cpu
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.common.packages import find_package_folder
from kokoro_tvm.common.platforms import WEB, Platform, detect_platform
from kokoro_tvm.native import libtvm
from kokoro_tvm.native.toolchains.archive import ARCHIVE
from kokoro_tvm.native.toolchains.cc import MINGW, CCompiler, linux_compiler
from kokoro_tvm.native.toolchains.coff import COFF
from kokoro_tvm.native.toolchains.gnu import GNU
from kokoro_tvm.native.toolchains.lld import ELF
from kokoro_tvm.native.toolchains.macho import MACHO
from kokoro_tvm.native.toolchains.zig import MACOS, ZIG
from kokoro_tvm.targets.runners.local import LOCAL
from kokoro_tvm.targets.runners.macho import Ios, MachORunner
from kokoro_tvm.targets.runners.node import NODE
from kokoro_tvm.targets.runners.qemu import Qemu
from kokoro_tvm.targets.runners.tiles import TILES
from kokoro_tvm.targets.runners.wine import WINE
from kokoro_tvm.targets.tools import CompiledLibrary, PinnedLibrary, RuntimeLibrary, Tools

if TYPE_CHECKING:
    from kokoro_tvm.native.toolchains import Toolchain
    from kokoro_tvm.targets.cpu import LlvmTarget
    from kokoro_tvm.targets.runners import Runner

__all__ = ["CpuTools"]

_WHEELS = Path(__file__).with_name("wheels.json")
_LINKERS = {"linux": ELF, "windows": COFF, "darwin": MACHO, "ios": ARCHIVE}
# Apple's platforms, whose code is run with Linux' TVM runtime -> by what.
_APPLE = {Platform("aarch64", "darwin"): MachORunner, Platform("aarch64", "ios"): Ios}


class CpuTools(Tools):
    """Those for a CPU."""

    spec: LlvmTarget

    def toolchain(self) -> Toolchain:
        """The C++ compiler of the machine that builds, for its own Linux; else LLVM's linker, so that a
        platform's libraries are the same wherever they are built."""
        if self.spec.platform == WEB:
            return ZIG
        if self.spec.is_native and self.spec.platform.system == "linux":
            return GNU
        return _LINKERS.get(self.spec.platform.system, GNU)

    def runner(self) -> Runner | None:
        """This process, for code of this machine's architecture and operating system; else an emulator of
        what is not its own, be it AMX alone."""
        if not self.spec.run:
            return None
        if self.spec.is_emulated:
            assert self.spec.emulate is not None
            if self.spec.platform in _APPLE:
                return _APPLE[self.spec.platform](self.spec.emulate)
            return Qemu(self.spec.platform.architecture, self.spec.emulate)
        if self.spec.is_native:
            return TILES if AMX & self._lacking() else LOCAL
        if self.spec.platform == WEB:
            return NODE
        is_windows = self.spec.platform == Platform(detect_platform().architecture, "windows")
        return WINE if is_windows else None

    def c_compiler(self) -> CCompiler | None:
        """gcc, for Linux on the CPUs that libkokoro knows how to ask what they have, and for Windows; zig's
        for macOS."""
        architecture, system = self.spec.platform.architecture, self.spec.platform.system
        if self.spec.platform == Platform("aarch64", "darwin"):
            return MACOS
        if self.spec.platform == Platform("x86_64", "windows"):
            return MINGW
        known = system == "linux" and architecture in FEATURES
        return linux_compiler(architecture) if known else None

    def runtime_libraries(self, ffi: bool = False) -> Mapping[str, RuntimeLibrary]:
        """Those of the installed TVM, for this machine's architecture and operating system; else of wheels,
        or, for RISC-V, compiled from TVM's sources.

        libtvm_ffi comes along where no Python brings it: under an emulator, for other machines, from C.
        """
        if not self.spec.is_native:
            return _compiled(self.spec.platform) or _pinned(self.spec.platform)
        runtime = {"runtime": _installed("tvm", "*tvm_runtime.*")}
        if not self.spec.is_emulated and not ffi:
            return runtime
        return runtime | {"ffi": _installed("tvm_ffi", "*tvm_ffi.*")}

    def runner_libraries(self) -> Mapping[str, RuntimeLibrary]:
        """Of Linux, for the code of macOS and iOS that is not run there."""
        if self.spec.platform in _APPLE and not self.spec.is_native:
            return _pinned(Platform(self.spec.platform.architecture, "linux"))
        return self.runtime_libraries()

    def lacking(self, precision: str) -> tuple[str, ...]:
        """What a level, an added feature or the precision needs is known; what a CPU's name means, LLVM
        knows. Code that is emulated, or not run, needs nothing; AMX alone is emulated where it is lacking."""
        if not self.spec.run or self.spec.is_emulated or self.spec.platform == WEB:
            return ()
        return tuple(sorted(self._lacking({BFLOAT16} if precision == "bfloat16" else ()) - AMX))

    def _lacking(self, needed: Iterable[str] = ()) -> set[str]:
        """What this machine's CPU lacks of what a level has, of the features that are added, and of
        `needed`."""
        there = features_of_cpu()
        if there is None:
            return set()
        all_needed = {*PORTABLE.get(self.spec.mcpu, ()), *needed}
        for word in self.spec.mattr:
            name = word[1:]
            if word[0] == "-":
                all_needed.discard(name)
            elif any(name in table for table in FEATURES.values()):  # others are habits of LLVM
                all_needed.add(name)
        return all_needed - there


def _installed(package: str, pattern: str) -> Path:
    """A library of an installed package. Raises BuildError."""
    for library in sorted((find_package_folder(package) / "lib").glob(pattern)):
        return library
    raise BuildError(f"no {pattern} of {package} is installed: `pip install -e '.[build]'` brings it")


def _pinned(where: Platform) -> dict[str, PinnedLibrary]:
    """Libraries of a platform's wheels; empty where there are none."""
    wheels = json.loads(_WHEELS.read_text(encoding="utf-8"))
    found = wheels.get(f"{where.system}-{where.architecture}", {})
    return {
        role: PinnedLibrary(**each | {"platforms": tuple(each["platforms"])}) for role, each in found.items()
    }


def _compiled(where: Platform) -> dict[str, CompiledLibrary]:
    """Libraries for the platform that has no wheels and can compile them; empty for others."""
    if where == WEB:
        return {"runtime": CompiledLibrary(libtvm.WASM, ZIG)}
    if where != Platform("riscv64", "linux"):
        return {}
    compiler = linux_compiler(where.architecture, "g++")
    return {
        "runtime": CompiledLibrary(libtvm.RUNTIME, compiler),
        "ffi": CompiledLibrary(libtvm.FFI, compiler),
    }
