"""Kernels on machines that this one is not: compiled, linked and run as a recipe's are."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from elsewhere import library_of, machine_for, obstacle, runner_of, runtime_of

from kokoro_tvm.runners.process import Place, Server
from kokoro_tvm.targets import Machine

__all__ = ["EMULATED", "EmulatedKernel", "emulated"]

_MOST = 60  # libraries a server is given; it takes 64 (server.c)
_opened: dict[str, itertools.count[int]] = defaultdict(itertools.count)


class EmulatedKernel:
    """A kernel in a server of the recipe's runner."""

    def __init__(self, recipe: str, function: Any) -> None:
        self.name = str(function.attrs["global_symbol"])
        number = next(_opened[recipe])
        self.server, folder = _server(recipe, number // _MOST)
        self.library = self.server.open(library_of(recipe, function, folder, f"kernel-{number}"), "module")

    def __call__(
        self, arrays: Sequence[np.ndarray], written: Sequence[np.ndarray], place: Place
    ) -> list[np.ndarray]:
        """What it writes; place: see server.c."""
        arguments = [*arrays, *written]
        got = self.server.call(self.library, self.name, arguments, result="arguments", place=place)
        return list(got[len(arrays) :])


@cache
def _server(recipe: str, which: int) -> tuple[Server, Path]:
    """One of a recipe's running servers and its folder, which live as long as the tests do."""
    folder = Path(mkdtemp(prefix="emulated-"))
    return runner_of(recipe).serve(runtime_of(recipe, folder), 2), folder


EMULATED: dict[str, tuple[Machine, str | None]] = {
    name: (machine_for(name), obstacle(name))
    for name in (
        *("x86-64-v2", "linux-arm64", "linux-arm64-server", "linux-riscv64", "windows-x86-64"),
        "macos-arm64",
    )
}
"""Recipe -> its machine, and why it cannot be run here."""
_RECIPES = {machine: name for name, (machine, _) in EMULATED.items()}


def emulated(machine: Machine, function: Any) -> EmulatedKernel | None:
    """A kernel in a runner of the machine; None for one that runs in this process."""
    return EmulatedKernel(_RECIPES[machine], function) if machine in _RECIPES else None
