"""Kernels on machines that this one emulates: compiled, linked and run as a recipe's are."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from elsewhere import library_of, machine_for, obstacle, runner_of, runtime_of
from machines import machine_of

from kokoro_tvm.targets import Machine
from kokoro_tvm.targets.runners.process import Place, RunnerProcess
from kokoro_tvm.targets.runners.qemu import Qemu

__all__ = ["EMULATED", "EmulatedKernel", "emulated"]

_MOST = 60  # libraries a server is given; it takes 64 (server.c)
_opened: dict[str, itertools.count[int]] = defaultdict(itertools.count)


class EmulatedKernel:
    """A kernel in a server for one machine of EMULATED."""

    def __init__(self, where: str, function: Any) -> None:
        self.name = str(function.attrs["global_symbol"])
        number = next(_opened[where])
        self.server, folder = _server(where, number // _MOST)
        recipe, (machine, _) = _RECIPES.get(where, where), EMULATED[where]
        library = library_of(recipe, function, folder, f"kernel-{number}", machine)
        self.library = self.server.open(library, "module")

    def __call__(
        self, arrays: Sequence[np.ndarray], written: Sequence[np.ndarray], place: Place
    ) -> list[np.ndarray]:
        """Run the kernel; return what it writes. `place`: see server.c."""
        arguments = [*arrays, *written]
        actual = self.server.call(self.library, self.name, arguments, result="arguments", place=place)
        return list(actual[len(arrays) :])


@cache
def _server(where: str, which: int) -> tuple[RunnerProcess, Path]:
    """Return a running server of a machine and its folder; servers live as long as the test session."""
    folder = Path(mkdtemp(prefix="emulated-"))
    runner = _VECTORS if where in _RECIPES else runner_of(where)
    return runner.serve(runtime_of(_RECIPES.get(where, where), folder), 2), folder


_VECTORS = Qemu("riscv64", "rv64,v=true,vlen=128")
_RECIPES = {"riscv64-vectors": "linux-riscv64"}  # what no recipe is for -> whose platform it has


def _vectors() -> tuple[Machine, str | None]:
    machine = machine_of("generic-rv64", "riscv64-linux-gnu", ("+m", "+a", "+f", "+d", "+c", "+v"))
    if reason := obstacle("linux-riscv64"):
        return machine, reason
    version = re.search(r" (\d+)\.(\d+)", _VECTORS.version())
    old = version is None or (int(version[1]), int(version[2])) < (8, 1)
    return machine, "QEMU before 8.1 crashes at vfcvt.rtz.x.f.v (its issue 1441)" if old else None


EMULATED: dict[str, tuple[Machine, str | None]] = {
    name: (machine_for(name), obstacle(name))
    for name in (
        *("x86-64-v2", "linux-arm64", "linux-arm64-server", "linux-riscv64", "windows-x86-64"),
        *("macos-arm64", "wasm"),
    )
} | {"riscv64-vectors": _vectors()}
"""Recipe, or what it is for -> its machine, and why it cannot be run here."""
_NAMES = {machine: name for name, (machine, _) in EMULATED.items()}


def emulated(machine: Machine, function: Any) -> EmulatedKernel | None:
    """Return a kernel in a runner of the machine, or None if it runs in this process."""
    return EmulatedKernel(_NAMES[machine], function) if machine in _NAMES else None
