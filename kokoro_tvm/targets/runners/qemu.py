"""Runner of code for another CPU under QEMU's user-mode emulation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.native.toolchains.cc import CCompiler, linux_compiler
from kokoro_tvm.targets.runners import Start
from kokoro_tvm.targets.runners.served import Served, version_of_runner

_VERSION = re.compile(r"version (\d+(?:\.\d+)*)")


class Qemu(Served):
    """qemu-ARCHITECTURE with a server compiled for that architecture."""

    package = "qemu-user"

    def __init__(self, architecture: str, cpu: str) -> None:
        """Choose a CPU.

        Args:
            architecture: As triples name it.
            cpu: A model of `qemu-ARCHITECTURE -cpu help`.
        """
        self.architecture = architecture
        self.cpu = cpu

    def __str__(self) -> str:
        return f"{self.program}, {self.cpu}"

    @property
    def program(self) -> str:
        """Return the emulator's name."""
        return f"qemu-{self.architecture}"

    @property
    def compiler(self) -> CCompiler:
        """Return the C compiler of the architecture."""
        return linux_compiler(self.architecture)

    def version(self) -> str:
        """Return emulator, version and CPU. Raises BuildError if it is not installed."""
        match = _VERSION.search(version_of_runner(self.program, self.package))
        return f"{self.program} {match[1] if match else 'of unknown version'}, {self.cpu}"

    def _compiler_options(self, libraries: Sequence[Path]) -> list[str]:
        """Return the compiler's options: TVM's runtime, loaded from the program's own folder, and libm."""
        # No symbol of libtvm_runtime is referred to.
        options = ["-Wl,--no-as-needed", "-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN"]
        return [*options, *map(str, libraries), "-lm"]

    def _start(self, program: Path) -> Start:
        return Start([self.program, "-cpu", self.cpu, "-L", self.compiler.get_sysroot(), str(program)])
