"""Runs code for another CPU under QEMU's user-mode emulation, with the TVM runtime that a bundle brings."""

from __future__ import annotations

import hashlib
import importlib.util
import platform
import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from kokoro_tvm.errors import BuildError
from kokoro_tvm.runners.base import Runner
from kokoro_tvm.toolchains.base import version_of

if TYPE_CHECKING:
    from kokoro_tvm.runners.process import ProcessSession, Server
    from kokoro_tvm.runtime.bundle import Bundle

__all__ = ["Qemu"]

_SERVER = Path(__file__).with_name("server.c")
_VERSION = re.compile(r"version (\d+(?:\.\d+)*)")


class Qemu(Runner):
    """qemu-ARCHITECTURE, for a program compiled by that architecture's C compiler."""

    needs_runtime = True

    def __init__(self, architecture: str, cpu: str) -> None:
        """architecture: as triples name it; cpu: one of the models that `qemu-ARCHITECTURE -cpu help`
        lists."""
        self.architecture = architecture
        self.cpu = cpu

    def __str__(self) -> str:
        return f"{self.program}, {self.cpu}"

    @property
    def program(self) -> str:
        """The emulator's."""
        return f"qemu-{self.architecture}"

    @property
    def compiler(self) -> str:
        """The C compiler's program."""
        return "gcc" if self._is_native else f"{self.architecture}-linux-gnu-gcc"

    def version(self) -> str:
        found = _VERSION.search(_first_line(self.program, "qemu-user"))
        return f"{self.program} {found[1] if found else 'of unknown version'}, {self.cpu}"

    def facts(self) -> dict[str, Any]:
        return {
            "emulator": self.version(),
            "compiler": _first_line(self.compiler, self._compiler_package),
            "server": hashlib.sha256(_SERVER.read_bytes()).hexdigest(),
        }

    def check(self) -> str | None:
        try:
            self.facts()
        except BuildError as error:
            return str(error)
        return None

    def session(self, bundle: Bundle, threads: int) -> ProcessSession:
        from kokoro_tvm.runners.process import ProcessSession, copy_runtime

        with TemporaryDirectory(prefix="kokoro-tvm-") as folder:
            copy_runtime(bundle, Path(folder))
            return ProcessSession(bundle, self.serve(Path(folder), threads))

    def serve(self, runtime: Path, threads: int) -> Server:
        """A server that emulates the CPU. runtime: the folder of the platform's libtvm_runtime and
        libtvm_ffi, which is not read any more once the server has loaded a library.

        Raises BuildError where emulator or compiler are not installed.
        """
        from kokoro_tvm.runners.process import Server

        name = self.version()
        _first_line(self.compiler, self._compiler_package)
        program = runtime / "server"
        command = [self.compiler, "-std=c99", "-O2", f"-I{_headers()}", str(_SERVER)]
        command += ["-o", str(program), "-Wl,--no-as-needed", "-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN"]
        command += [*map(str, sorted(runtime.glob("libtvm*.so*"))), "-lm"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise BuildError(f"{self.compiler} could not compile {_SERVER.name}: {done.stdout.strip()}")
        emulated = [self.program, "-cpu", self.cpu, "-L", self._system(), str(program)]
        return Server(emulated, name, {"TVM_NUM_THREADS": str(threads)})

    @property
    def _is_native(self) -> bool:
        return {"arm64": "aarch64", "AMD64": "x86_64"}.get(m := platform.machine(), m) == self.architecture

    @property
    def _compiler_package(self) -> str:
        return "gcc" if self._is_native else f"gcc-{self.architecture.replace('_', '-')}-linux-gnu"

    def _system(self) -> str:
        """The folder with the architecture's C library, which the compiler knows."""
        if self._is_native:
            return "/"
        command = [self.compiler, "-print-file-name=libc.so.6"]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        return str(Path(found).resolve().parents[1])


def _headers() -> Path:
    """Of tvm_ffi, which is not imported: it would import torch."""
    found = importlib.util.find_spec("tvm_ffi")
    if found is None or found.origin is None:
        raise BuildError("tvm_ffi is not installed: `pip install apache-tvm-ffi`")
    return Path(found.origin).with_name("include")


def _first_line(program: str, package: str) -> str:
    """Of what `--version` prints. Raises BuildError where there is no such program; package: Debian's."""
    return version_of(program, package, "run the code with", ", or say `run: false` in the recipe's target")
