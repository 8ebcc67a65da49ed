"""Shared libraries for the build machine, linked by its C++ compiler."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.native.toolchains import Toolchain, link_with, version_of


class Gnu(Toolchain):
    """g++."""

    command = "g++"
    suffix = ".so"
    packages = ("g++",)

    def version(self) -> str:
        """Return the version of g++. Raises BuildError."""
        return version_of(self.command, *self.packages)

    def identity(self) -> str:
        """Return the versions of g++ and of the linker that it calls, which is another package."""
        linker = f", {version_of('ld', 'binutils')}" if sys.platform == "linux" else ""
        return f"{self.version()}{linker}"

    def link(self, objects: Sequence[Path], out: Path) -> None:
        """Link objects to a shared library."""
        link_with(self.version(), [self.command, "-shared", "-fPIC", *map(str, objects)], out)

    def probe(self, folder: Path) -> None:
        """Compile and link a small library."""
        source = folder / "probe.cc"
        source.write_text('#include <cmath>\nextern "C" double probe(double x) { return std::exp(x); }\n')
        self.link([source], folder / "probe.so")


GNU = Gnu()
