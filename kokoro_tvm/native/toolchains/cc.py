"""C and C++ compilers by the platform that they compile for."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.common.packages import find_package_folder
from kokoro_tvm.common.platforms import Platform, detect_platform
from kokoro_tvm.native.toolchains import problem_of, version_of

_GCC = re.compile(r"gcc(?:-(?P<architecture>[\w-]+)-linux-gnu)?")
_DEBIAN = {
    "aarch64": "arm64",
    "x86-64": "amd64",
}  # Debian's names of architectures, where triples have others


@dataclass(frozen=True)
class CCompiler:
    """A gcc or g++: its program and Debian package."""

    command: str
    package: str

    @property
    def packages(self) -> tuple[str, ...]:
        """Return Debian's packages of the compiler and of its C library, which gcc's only recommends."""
        match = _GCC.fullmatch(self.package)
        if match is None:  # the package of a g++ or of MinGW depends on its C library
            return (self.package,)
        architecture = match["architecture"]
        libc = f"-{_DEBIAN.get(architecture, architecture)}-cross" if architecture else ""
        return (self.package, f"libc6-dev{libc}")

    def version(self, purpose: str = "compile C with", otherwise: str = "") -> str:
        """Return its version; see `version_of`. Raises BuildError if it is not installed."""
        return version_of(self.command, " ".join(self.packages), purpose, otherwise)

    def check(self) -> str | None:
        """Return why it cannot be run and what to do about it; None if it can."""
        return problem_of(self.version)

    def compile(self, sources: Sequence[Path], out: Path, *options: str) -> None:
        """Compile C99 to a library or a program. Raises BuildError."""
        arguments = ["-std=c99", "-O2", "-isystem", str(tvm_ffi_headers()), *map(str, sources), *options]
        self.run([*arguments, "-o", str(out)], out.name)

    def run(self, arguments: Sequence[str], what: str) -> None:
        """Run the compiler; `what` names its output in messages. Raises BuildError."""
        run_compiler([self.command, *arguments], self.version(), what)

    def get_sysroot(self) -> str:
        """Return the folder in which an emulator finds the C library of the architecture."""
        if self == _NATIVE_C:
            return "/"
        command = [self.command, "-print-file-name=libc.so.6"]
        library = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        return str(Path(library).resolve().parents[1])


_NATIVE_C = CCompiler("gcc", "gcc")

NATIVE_CXX = CCompiler("g++", "g++")
"""g++ for this machine."""

MINGW = CCompiler("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64")
"""gcc for Windows on x86-64."""


def run_compiler(command: Sequence[str], version: str, what: str) -> None:
    """Run a compiler. Raises BuildError with its output, its `version` and `what` it compiles."""
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if process.returncode:
        raise BuildError(f"{version} could not compile {what}: {process.stdout.strip()}")


def linux_compiler(architecture: str, program: str = "gcc") -> CCompiler:
    """Return the gcc or g++ for Linux on an architecture, as triples name it."""
    if detect_platform() == Platform(architecture, "linux"):
        return CCompiler(program, program)
    package = f"{program}-{architecture.replace('_', '-')}-linux-gnu"
    return CCompiler(f"{architecture}-linux-gnu-{program}", package)


def tvm_ffi_headers() -> Path:
    """Return the folder of tvm_ffi's headers. Raises BuildError."""
    # tvm_ffi is not imported, because that imports torch.
    return find_package_folder("tvm_ffi") / "include"
