"""Shared libraries for the machine that builds, linked by its C++ compiler."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.toolchains.base import Toolchain, link_with, problem_of, version_of

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

    def check(self) -> str | None:
        if (problem := problem_of(self.version)) is not None:
            return problem
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "probe.cc")
            source.write_text('#include <cmath>\nextern "C" double probe(double x) { return std::exp(x); }\n')
            command = [
                self.command,
                "-shared",
                "-fPIC",
                str(source),
                "-o",
                str(source.with_suffix(self.suffix)),
            ]
            done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            return None
        reason = next(reversed(done.stderr.strip().splitlines()), f"exit status {done.returncode}")
        if done.returncode < 0:
            reason = f"it was ended by signal {signal.Signals(-done.returncode).name}"
        return f"{self.command} cannot make a shared library: {reason}"


GNU = Gnu()
