"""C compilers, by the architecture that they compile for: what makes programs of this package's C sources."""

from __future__ import annotations

import importlib.util
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.errors import BuildError
from kokoro_tvm.toolchains.base import version_of

__all__ = ["CCompiler", "is_here", "tvm_ffi_headers"]


class CCompiler:
    """gcc for Linux on an architecture, as triples name it."""

    def __init__(self, architecture: str) -> None:
        self.architecture = architecture
        self.command = "gcc" if is_here(architecture) else f"{architecture}-linux-gnu-gcc"
        word = architecture.replace("_", "-")
        self.package = "gcc" if is_here(architecture) else f"gcc-{word}-linux-gnu"
        """Debian's."""

    def version(self, purpose: str = "compile C with", otherwise: str = "") -> str:
        """The first line that it prints of itself. Raises BuildError where it is not installed."""
        return version_of(self.command, self.package, purpose, otherwise)

    def compile(self, sources: Sequence[Path], out: Path, *options: str) -> None:
        """Makes a library or a program of C99. Raises BuildError where it is not installed or fails."""
        version = self.version()
        command = [self.command, "-std=c99", "-O2", "-isystem", str(tvm_ffi_headers())]
        command += [*map(str, sources), *options, "-o", str(out)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise BuildError(f"{version} could not compile {out.name}: {done.stdout.strip()}")

    def system(self) -> str:
        """The folder with the architecture's C library, which the compiler knows."""
        if is_here(self.architecture):
            return "/"
        command = [self.command, "-print-file-name=libc.so.6"]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        return str(Path(found).resolve().parents[1])


def is_here(architecture: str) -> bool:
    """Whether it is this machine's."""
    return {"arm64": "aarch64", "AMD64": "x86_64"}.get(m := platform.machine(), m) == architecture


def tvm_ffi_headers() -> Path:
    """The folder of tvm_ffi's headers. It is not imported: it would import torch. Raises BuildError."""
    found = importlib.util.find_spec("tvm_ffi")
    if found is None or found.origin is None:
        raise BuildError("tvm_ffi is not installed: `pip install apache-tvm-ffi`")
    return Path(found.origin).with_name("include")
