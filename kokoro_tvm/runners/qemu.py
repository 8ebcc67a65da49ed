"""Runs code for another CPU under QEMU's user-mode emulation, with the TVM runtime that a bundle brings."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from kokoro_tvm.errors import BuildError
from kokoro_tvm.runners.base import Runner
from kokoro_tvm.toolchains.base import version_of
from kokoro_tvm.toolchains.cc import CCompiler

if TYPE_CHECKING:
    from kokoro_tvm.runners.process import ProcessSession, Server
    from kokoro_tvm.runtime.bundle import Bundle

__all__ = ["Qemu"]

_SERVER = Path(__file__).with_name("server.c")
_PURPOSE = "run the code with", ", or say `run: false` in the recipe's target"
_VERSION = re.compile(r"version (\d+(?:\.\d+)*)")


class Qemu(Runner):
    """qemu-ARCHITECTURE, for a program compiled by that architecture's C compiler."""

    needs_runtime = True

    def __init__(self, architecture: str, cpu: str) -> None:
        """architecture: as triples name it; cpu: one of the models that `qemu-ARCHITECTURE -cpu help`
        lists."""
        self.architecture = architecture
        self.cpu = cpu
        self.compiler = CCompiler(architecture)

    def __str__(self) -> str:
        return f"{self.program}, {self.cpu}"

    @property
    def program(self) -> str:
        """The emulator's."""
        return f"qemu-{self.architecture}"

    def version(self) -> str:
        found = _VERSION.search(_first_line(self.program, "qemu-user"))
        return f"{self.program} {found[1] if found else 'of unknown version'}, {self.cpu}"

    def facts(self) -> dict[str, Any]:
        return {
            "emulator": self.version(),
            "compiler": self.compiler.version(*_PURPOSE),
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
        self.compiler.version(*_PURPOSE)
        program = runtime / "server"
        linking = ["-Wl,--no-as-needed", "-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN"]
        self.compiler.compile(
            [_SERVER], program, *linking, *map(str, sorted(runtime.glob("libtvm*.so*"))), "-lm"
        )
        emulated = [self.program, "-cpu", self.cpu, "-L", self.compiler.system(), str(program)]
        return Server(emulated, name, {"TVM_NUM_THREADS": str(threads)})


def _first_line(program: str, package: str) -> str:
    """Of what `--version` prints. Raises BuildError where there is no such program; package: Debian's."""
    return version_of(program, package, *_PURPOSE)
