"""Kinds of targets: one module per kind, each with a `KIND`.

A `TargetKind` says what the code is. Its `Tools` link and run that code on the build machine. A new kind
is a new module: recipes, stages, doctor and the runtime find it by its file name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_tvm.common.loading import load
from kokoro_tvm.common.spec import TargetSpec
from kokoro_tvm.targets.base import KERNELS, MACHINE_CODE, Machine, TargetKind
from kokoro_tvm.targets.tools import CompiledLibrary, PinnedLibrary, RuntimeLibrary, Tools

if TYPE_CHECKING:
    from kokoro_tvm.targets.runners import Runner

__all__ = [
    "KERNELS",
    "MACHINE_CODE",
    "CompiledLibrary",
    "Machine",
    "PinnedLibrary",
    "RuntimeLibrary",
    "TargetKind",
    "Tools",
    "find_runner",
    "kinds",
    "resolve",
    "target_kind",
    "tools_for",
    "tvm_target",
]

_SHARED = {"__init__", "base", "cpu", "cpu_tools", "gpu", "tools"}


def kinds() -> tuple[str, ...]:
    """List the names of all kinds: the modules of this package."""
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in _SHARED))


@cache
def target_kind(name: str) -> TargetKind:
    """Return the kind of a name, or raise KeyError."""
    if name not in kinds():
        raise KeyError(name)
    kind: TargetKind = load(f"{__name__}.{name}").KIND
    return kind


def resolve(target: TargetSpec, precision: str = "float32") -> Machine:
    """Resolve a recipe's `target` to a machine.

    Raises BuildError if a tool for it is missing or refuses it.
    """
    return target_kind(target.kind).resolve(target, precision)


def tools_for(target: TargetSpec) -> Tools:
    """Return the tools for a recipe's `target`."""
    return target_kind(target.kind).tools(target)


def find_runner(target: Mapping[str, Any]) -> tuple[Runner | None, str]:
    """Return the runner for a recipe's `target` (JSON), or None and the reason."""
    kind = target_kind(target["kind"])
    spec = kind.spec.model_validate(target, strict=False)
    runner = kind.tools(spec).runner()
    if runner is not None:
        return runner, ""
    return None, spec.not_run or f"nothing on this machine runs code for {kind.describe(spec)}"


def tvm_target(machine: Machine) -> object:
    """Return TVM's Target for a machine."""
    return target_kind(machine.kind).tvm(machine)
