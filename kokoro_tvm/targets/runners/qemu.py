"""Runs code for another CPU under QEMU's user-mode emulation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.native.toolchains.cc import CCompiler, linux_compiler
from kokoro_tvm.targets.runners import Start
from kokoro_tvm.targets.runners.served import Served, version_of_runner

__all__ = ["Qemu"]

_VERSION = re.compile(r"version (\d+(?:\.\d+)*)")


class Qemu(Served):
    """qemu-ARCHITECTURE, for a program compiled by that architecture's C compiler."""

    package = "qemu-user"

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
    def compiler(self) -> CCompiler:
        return linux_compiler(self.architecture)

    def version(self) -> str:
        found = _VERSION.search(version_of_runner(self.program, self.package))
        return f"{self.program} {found[1] if found else 'of unknown version'}, {self.cpu}"

    def _options(self, libraries: Sequence[Path]) -> list[str]:
        # No symbol of libtvm_runtime is referred to.
        options = ["-Wl,--no-as-needed", "-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN"]
        return [*options, *map(str, libraries), "-lm"]

    def _start(self, program: Path) -> Start:
        return Start([self.program, "-cpu", self.cpu, "-L", self.compiler.system(), str(program)])
