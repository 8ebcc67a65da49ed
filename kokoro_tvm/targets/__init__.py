"""Where code runs: one module a kind of target, each with a `KIND`. Everything else asks these.

Two questions are answered: a `TargetKind` says what the code is, its `Tools` what handles it on the machine
that builds. A new kind is a new module here: recipes, stages, sets, doctor and the runtime's checks find it
by its file's name.
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
    """Names of all kinds: the modules of this package."""
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in _SHARED))


@cache
def target_kind(name: str) -> TargetKind:
    """The kind of that name. Raises KeyError where there is none."""
    if name not in kinds():
        raise KeyError(name)
    kind: TargetKind = load(f"{__name__}.{name}").KIND
    return kind


def resolve(target: TargetSpec, precision: str = "float32") -> Machine:
    """The machine that a recipe's `target` means. Raises BuildError."""
    return target_kind(target.kind).resolve(target, precision)


def tools_for(target: TargetSpec) -> Tools:
    """What handles the code of a recipe's `target` on the machine that builds."""
    return target_kind(target.kind).tools(target)


def find_runner(target: Mapping[str, Any]) -> tuple[Runner | None, str]:
    """The runner for a recipe's `target`, as JSON; where there is none, None and why."""
    kind = target_kind(target["kind"])
    spec = kind.spec.model_validate(target, strict=False)
    runner = kind.tools(spec).runner()
    if runner is not None:
        return runner, ""
    return None, spec.not_run or f"nothing on this machine runs code for {kind.describe(spec)}"


def tvm_target(machine: Machine) -> object:
    """TVM's Target for a machine."""
    return target_kind(machine.kind).tvm(machine)
