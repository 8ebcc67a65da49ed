"""Shared libraries for the machine that builds, linked by its C++ compiler."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from kokoro_tvm.errors import BuildError
from kokoro_tvm.toolchains.base import Toolchain

__all__ = ["GNU"]


class Gnu(Toolchain):
    """g++."""

    command = "g++"
    suffix = ".so"

    def version(self) -> str:
        return _version(self.command)

    def link(self, objects: Sequence[Path], out: Path) -> None:
        version = self.version()
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=".link-") as folder:
            partial = Path(folder, out.name)
            command = [self.command, "-shared", "-fPIC", "-o", str(partial), *map(str, objects)]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                reason = f"exit status {done.returncode}: {done.stdout.strip()}"
                raise BuildError(f"{version} could not link {out.name}: {reason}")
            if not partial.is_file() or partial.stat().st_size == 0:
                raise BuildError(f"{version} wrote no library for {out.name}; is the disk full?")
            partial.replace(out)

    def check(self) -> str | None:
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


@cache
def _version(command: str) -> str:
    try:
        done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(
            f"no working {command} to link with ({error}): install it (Debian: apt-get install g++)"
        ) from error
    return done.stdout.splitlines()[0]


GNU = Gnu()
