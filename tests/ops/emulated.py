"""Kernels on CPUs that this machine is not, under QEMU: compiled, linked and run as a recipe's are."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

from kokoro_tvm.compiler.codegen import generate
from kokoro_tvm.engine.inputs import Inputs
from kokoro_tvm.recipe import load_recipe
from kokoro_tvm.runners.process import Place, Server
from kokoro_tvm.stages import runtime
from kokoro_tvm.targets import Machine, PinnedLibrary, find_runner, resolve, target_kind

__all__ = ["EMULATED", "EmulatedKernel", "emulated"]

RECIPES = Path(__file__).parents[2] / "recipes"
OPTIONS = {"opt_level": 3, "disabled_passes": [], "config": {}}
_serial = itertools.count()


class EmulatedKernel:
    """A kernel in a server of the recipe's runner."""

    def __init__(self, recipe: str, machine: Machine, function: Any) -> None:
        self.name = str(function.attrs["global_symbol"])
        self.server, folder = _server(recipe)
        stem = folder / f"kernel-{next(_serial)}"
        generate(self.name, function, machine, OPTIONS).write_to_file(f"{stem}.o")
        target = load_recipe(recipe, RECIPES).target
        target_kind(target.kind).toolchain(target).link([Path(f"{stem}.o")], Path(f"{stem}.so"))
        self.library = self.server.open(Path(f"{stem}.so"), "module")

    def __call__(
        self, arrays: Sequence[np.ndarray], written: Sequence[np.ndarray], place: Place
    ) -> list[np.ndarray]:
        """What it writes; place: see server.c."""
        arguments = [*arrays, *written]
        got = self.server.call(self.library, self.name, arguments, result="arguments", place=place)
        return list(got[len(arrays) :])


@cache
def _server(recipe: str) -> tuple[Server, Path]:
    """A running server and its folder, which lives as long as the tests do."""
    target = load_recipe(recipe, RECIPES).target
    runner, reason = find_runner(target.model_dump(mode="json"))
    assert runner is not None, reason
    folder = Path(mkdtemp(prefix="emulated-"))
    libraries = target_kind(target.kind).runtime_libraries(target).values()
    pinned = [asdict(each) for each in libraries if isinstance(each, PinnedLibrary)]
    runtime.run(folder, Inputs({}), pinned=pinned)
    for each in libraries:
        if isinstance(each, Path):
            shutil.copyfile(each, folder / each.name)
    return runner.serve(folder, 2), folder  # type: ignore[attr-defined]


def _obstacle(recipe: str) -> str | None:
    target = load_recipe(recipe, RECIPES).target
    runner, reason = find_runner(target.model_dump(mode="json"))
    toolchain = target_kind(target.kind).toolchain(target)
    return (runner.check() or toolchain.check()) if runner else reason


EMULATED: dict[str, tuple[Machine, str | None]] = {
    name: (resolve(load_recipe(name, RECIPES).target), _obstacle(name))
    for name in ("x86-64-v2", "linux-arm64")
}
"""Recipe -> its machine, and why it cannot be emulated here."""
_RECIPES = {machine: name for name, (machine, _) in EMULATED.items()}


def emulated(machine: Machine, function: Any) -> EmulatedKernel | None:
    """A kernel in an emulator of the machine; None for one that runs here."""
    return EmulatedKernel(_RECIPES[machine], machine, function) if machine in _RECIPES else None
