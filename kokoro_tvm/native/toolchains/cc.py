"""C compilers, by the platform that they compile for: what makes programs of this package's C sources."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.common.packages import find_package_folder
from kokoro_tvm.common.platforms import Platform, detect_platform
from kokoro_tvm.native.toolchains import problem_of, version_of

__all__ = ["MINGW", "NATIVE_CXX", "CCompiler", "linux_compiler", "run_compiler", "tvm_ffi_headers"]


@dataclass(frozen=True)
class CCompiler:
    """A gcc or g++: its program, and Debian's package of it."""

    command: str
    package: str

    @property
    def packages(self) -> tuple[str, ...]:
        """Debian's, that it is in."""
        return (self.package,)

    def version(self, purpose: str = "compile C with", otherwise: str = "") -> str:
        """The first line that it prints of itself. Raises BuildError where it is not installed; purpose and
        otherwise: see `version_of`."""
        return version_of(self.command, self.package, purpose, otherwise)

    def check(self) -> str | None:
        """Why it cannot be run, with what to do about it; None where it can."""
        return problem_of(self.version)

    def compile(self, sources: Sequence[Path], out: Path, *options: str) -> None:
        """Makes a library or a program of C99. Raises BuildError where it is not installed or fails."""
        given = ["-std=c99", "-O2", "-isystem", str(tvm_ffi_headers()), *map(str, sources), *options]
        self.run([*given, "-o", str(out)], out.name)

    def run(self, arguments: Sequence[str], what: str) -> None:
        """Raises BuildError where it is not installed or fails; what: it is to compile, in messages."""
        run_compiler([self.command, *arguments], self.version(), what)

    def system(self) -> str:
        """The folder with Linux' C library that its programs run with, as an emulator is given it."""
        if self == _NATIVE_C:
            return "/"
        command = [self.command, "-print-file-name=libc.so.6"]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        return str(Path(found).resolve().parents[1])


_NATIVE_C = CCompiler("gcc", "gcc")

NATIVE_CXX = CCompiler("g++", "g++")
"""The g++ of this machine."""

MINGW = CCompiler("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64")
"""For Windows on x86-64."""


def run_compiler(command: Sequence[str], version: str, what: str) -> None:
    """Raises BuildError where it fails, with what it printed; version, what: the compiler, and what it
    compiles, in messages."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise BuildError(f"{version} could not compile {what}: {done.stdout.strip()}")


def linux_compiler(architecture: str, program: str = "gcc") -> CCompiler:
    """The gcc or g++ for Linux on an architecture, as triples name it."""
    if detect_platform() == Platform(architecture, "linux"):
        return CCompiler(program, program)
    package = f"{program}-{architecture.replace('_', '-')}-linux-gnu"
    return CCompiler(f"{architecture}-linux-gnu-{program}", package)


def tvm_ffi_headers() -> Path:
    """The folder of tvm_ffi's headers. It is not imported: it would import torch. Raises BuildError."""
    return find_package_folder("tvm_ffi") / "include"
