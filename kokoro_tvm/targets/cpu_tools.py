"""Linkers, runners and TVM runtimes for CPUs."""

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

_WHEELS = Path(__file__).with_name("wheels.json")
_LINKERS = {"linux": ELF, "windows": COFF, "darwin": MACHO, "ios": ARCHIVE}
# Apple's platforms -> the runner that emulates them with Linux' TVM runtime.
_APPLE = {Platform("aarch64", "darwin"): MachORunner, Platform("aarch64", "ios"): Ios}


class CpuTools(Tools):
    """Tools for a CPU."""

    spec: LlvmTarget

    def toolchain(self) -> Toolchain:
        """Return the linker: g++ for Linux code of this machine, zig for WebAssembly, else one of LLVM's."""
        if self.spec.platform == WEB:
            return ZIG
        # LLVM's linker writes the same library on every build machine.
        if self.spec.is_native and self.spec.platform.system == "linux":
            return GNU
        return _LINKERS.get(self.spec.platform.system, GNU)

    def runner(self) -> Runner | None:
        """Return what runs the code: this process, with AMX emulated if the CPU lacks it, or an emulator.

        None: the recipe forbids to run the code, or nothing here runs it.
        """
        if not self.spec.run:
            return None
        if self.spec.is_emulated:
            assert self.spec.emulate is not None
            if self.spec.platform in _APPLE:
                return _APPLE[self.spec.platform](self.spec.emulate)
            return Qemu(self.spec.platform.architecture, self.spec.emulate)
        if self.spec.is_native:
            return TILES if AMX & self._find_lacking_features() else LOCAL
        if self.spec.platform == WEB:
            return NODE
        is_windows = self.spec.platform == Platform(detect_platform().architecture, "windows")
        return WINE if is_windows else None

    def c_compiler(self) -> CCompiler | None:
        """Return gcc for Linux and Windows, zig for macOS; None for platforms without libkokoro."""
        architecture, system = self.spec.platform.architecture, self.spec.platform.system
        if self.spec.platform == Platform("aarch64", "darwin"):
            return MACOS
        if self.spec.platform == Platform("x86_64", "windows"):
            return MINGW
        is_known = system == "linux" and architecture in FEATURES
        return linux_compiler(architecture) if is_known else None

    def runtime_libraries(self, ffi: bool = False) -> Mapping[str, RuntimeLibrary]:
        """Return TVM's runtime: of this environment if it fits, else compiled, or of a pinned wheel.

        An emulated target has libtvm_ffi, too; a native one only if `ffi` is true, because Python
        brings it. Raises BuildError if TVM is not installed.
        """
        if not self.spec.is_native:
            return _list_compiled(self.spec.platform) or _list_pinned(self.spec.platform)
        # Python brings libtvm_ffi; an emulator, another machine and C need it as a file.
        runtime = {"runtime": _find_installed("tvm", "*tvm_runtime.*")}
        if not self.spec.is_emulated and not ffi:
            return runtime
        return runtime | {"ffi": _find_installed("tvm_ffi", "*tvm_ffi.*")}

    def runner_libraries(self) -> Mapping[str, RuntimeLibrary]:
        """Return the bundle's runtime; that of Linux if code for macOS or iOS is emulated."""
        if self.spec.platform in _APPLE and not self.spec.is_native:
            return _list_pinned(Platform(self.spec.platform.architecture, "linux"))
        return self.runtime_libraries()

    def list_lacking_features(self, precision: str) -> tuple[str, ...]:
        """List the features that level, `mattr` and precision need and this CPU lacks, in alphabetical order.

        AMX is no such feature, because it is emulated. Empty if the code is not run by this CPU.
        """
        if not self.spec.run or self.spec.is_emulated or self.spec.platform == WEB:
            return ()
        # Only LLVM knows the features behind a CPU's name. AMX is emulated.
        return tuple(sorted(self._find_lacking_features({BFLOAT16} if precision == "bfloat16" else ()) - AMX))

    def _find_lacking_features(self, needed: Iterable[str] = ()) -> set[str]:
        """Return the features of the level, of `mattr` and of `needed` that this CPU lacks.

        Empty if the system does not list the CPU's features.
        """
        available = features_of_cpu()
        if available is None:
            return set()
        all_needed = {*PORTABLE.get(self.spec.mcpu, ()), *needed}
        for word in self.spec.mattr:
            name = word[1:]
            if word[0] == "-":
                all_needed.discard(name)
            elif any(name in table for table in FEATURES.values()):  # others only tune LLVM
                all_needed.add(name)
        return all_needed - available


def _find_installed(package: str, pattern: str) -> Path:
    """Return the first library of an installed package that matches a pattern.

    Raises BuildError if none does.
    """
    for library in sorted((find_package_folder(package) / "lib").glob(pattern)):
        return library
    raise BuildError(f"no {pattern} of {package} is installed: `pip install -e '.[build]'` brings it")


def _list_pinned(platform: Platform) -> dict[str, PinnedLibrary]:
    """Return the libraries of the wheels pinned for a platform; empty if none are."""
    wheels = json.loads(_WHEELS.read_text(encoding="utf-8"))
    libraries = wheels.get(f"{platform.system}-{platform.architecture}", {})
    return {
        role: PinnedLibrary(**entry | {"platforms": tuple(entry["platforms"])})
        for role, entry in libraries.items()
    }


def _list_compiled(platform: Platform) -> dict[str, CompiledLibrary]:
    """Return the libraries that are compiled for a platform without wheels; empty for other platforms."""
    if platform == WEB:
        return {"runtime": CompiledLibrary(libtvm.WASM, ZIG)}
    if platform != Platform("riscv64", "linux"):
        return {}
    compiler = linux_compiler(platform.architecture, "g++")
    return {
        "runtime": CompiledLibrary(libtvm.RUNTIME, compiler),
        "ffi": CompiledLibrary(libtvm.FFI, compiler),
    }
