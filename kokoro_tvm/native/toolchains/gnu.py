"""Shared libraries for the machine that builds, linked by its C++ compiler."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.native.toolchains import Toolchain, link_with, version_of

__all__ = ["GNU"]


class Gnu(Toolchain):
    """g++."""

    command = "g++"
    suffix = ".so"
    packages = ("g++",)

    def version(self) -> str:
        return version_of(self.command, *self.packages)

    def identity(self) -> str:
        """With the linker that g++ calls, which is of another package."""
        linker = f", {version_of('ld', 'binutils')}" if sys.platform == "linux" else ""
        return f"{self.version()}{linker}"

    def link(self, objects: Sequence[Path], out: Path) -> None:
        link_with(self.version(), [self.command, "-shared", "-fPIC", *map(str, objects)], out)

    def probe(self, folder: Path) -> None:
        source = folder / "probe.cc"
        source.write_text('#include <cmath>\nextern "C" double probe(double x) { return std::exp(x); }\n')
        self.link([source], folder / "probe.so")


GNU = Gnu()
