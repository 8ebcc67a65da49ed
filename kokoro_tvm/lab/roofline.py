"""What a GPU's figures allow: the time that every launch of a recipe takes at least, without such a GPU.

A launch takes as long as its arithmetic on the cores that its workgroups reach, or as long as its bytes take
through memory, whichever is more, and the time that starting it takes. Caches, latency and occupancy within a
core are left out, so real times are longer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tvm
from tvm import relax, tirx

from kokoro_tvm.errors import InputError
from kokoro_tvm.lab.phases import phases_of
from kokoro_tvm.passes.select_kernels import WORK
from kokoro_tvm.recipe import Recipe
from kokoro_tvm.targets import resolve

__all__ = ["Gpu", "Launch", "gpu", "gpus", "launches"]

_FIGURES = Path(__file__).with_name("gpus.json")


@dataclass(frozen=True)
class Gpu:
    """A GPU's figures: float32 arithmetic without matrix units in TFLOP/s, memory in GB/s, cores that
    workgroups run on, and the time that a launch takes besides, in microseconds; where they are from."""

    name: str
    tflops: float
    gb_per_s: float
    cores: int
    launch_us: float
    source: str


@dataclass(frozen=True)
class Launch:
    """A kernel, executed once. flops: where its operation counts them; bytes: of its arguments; groups: how
    many workgroups it has, 0 where it has no grid yet."""

    component: str
    kernel: str
    operation: str
    flops: int
    bytes: int
    groups: int

    def _times(self, gpu: Gpu) -> dict[str, float]:
        """Seconds of its arithmetic, its traffic and its start."""
        reached = min(1.0, self.groups / gpu.cores) if self.groups else 1.0
        return {
            "arithmetic": self.flops / (gpu.tflops * 1e12 * reached),
            "memory": self.bytes / (gpu.gb_per_s * 1e9),
            "launch": gpu.launch_us * 1e-6,
        }

    def seconds(self, gpu: Gpu) -> float:
        """The least time on a GPU."""
        times = self._times(gpu)
        return max(times["arithmetic"], times["memory"]) + times["launch"]

    def bound(self, gpu: Gpu) -> str:
        """What takes longest: "arithmetic", "memory" or "launch"."""
        times = self._times(gpu)
        return max(times, key=lambda name: times[name])


def gpus() -> dict[str, Gpu]:
    """Those whose figures are known, by a short name."""
    figures = json.loads(_FIGURES.read_text(encoding="utf-8"))
    return {name: Gpu(**entry) for name, entry in figures.items()}


def gpu(name: str) -> Gpu:
    """Raises InputError for one whose figures are not known."""
    known = gpus()
    if name not in known:
        raise InputError(f"The figures of {name!r} are not known; those of {', '.join(known)} are.")
    return known[name]


def launches(recipe: Recipe, lengths: Sequence[Mapping[str, int]]) -> list[list[Launch]]:
    """For each of the lengths every launch of the recipe's components on its GPU, in order.

    lengths: by axis, "tokens" and "frames". Raises BuildError as lowering does, InputError for a recipe that
    computes nothing on a GPU.
    """
    found: list[list[Launch]] = [[] for _ in lengths]
    for name, component in recipe.components.items():
        target = recipe.target_of(name)
        machine = resolve(target, recipe.precision_of(target))
        if machine.features.kernels != "gpu":
            continue
        phases = phases_of(recipe, name, machine)
        for of_length, length in zip(found, lengths, strict=True):
            of_length += _launches(phases["select_kernels"], name, length[component.axis])
    if not any(found):
        raise InputError(
            f"The recipe {recipe.name} computes nothing on a GPU: name one of kind cuda or metal."
        )
    return found


def _launches(module: Any, component: str, length: int) -> Iterator[Launch]:
    function = module[f"{component}_forward"]
    analyzer = tvm.sym.Analyzer()
    for variable in relax.analysis.defined_symbolic_vars(function):
        analyzer.bind(variable, tirx.const(length, "int64"))
    for block in function.body.blocks:
        for binding in block.bindings:
            call = binding.value
            if isinstance(call, relax.Call) and call.op == tvm.ir.Op.get("relax.call_tir"):
                yield _launch(module, component, call, analyzer)


def _launch(module: Any, component: str, call: Any, analyzer: Any) -> Launch:
    kernel = module[call.args[0]]
    results = list(call.ty.fields) if isinstance(call.ty, relax.TupleType) else [call.ty]
    given = [argument.ty for argument in call.args[1].fields]
    shapes = [_shape(each, analyzer) for each in (*given, *results)]
    sizes = [
        math.prod(shape) * tvm.DataType(str(each.dtype)).itemsize
        for shape, each in zip(shapes, (*given, *results), strict=True)
    ]
    work = json.loads(str(kernel.attrs[WORK])) if WORK in kernel.attrs else {}
    result = shapes[len(given)]
    steps = result[1] if len(result) > 1 else 1
    return Launch(
        component=component,
        kernel=str(call.args[0].name_hint),
        operation=str(work.get("operation", "plain")),
        flops=int(work.get("flops_per_step", 0)) * steps,
        bytes=sum(sizes),
        groups=_groups(kernel, shapes),
    )


def _shape(type_: Any, analyzer: Any) -> list[int]:
    """Of a tensor; nothing of a number."""
    return [int(analyzer.simplify(extent)) for extent in getattr(type_, "shape", ())]


def _groups(kernel: Any, shapes: list[list[int]]) -> int:
    """How many workgroups a kernel has for arguments of these shapes; 0 where it has no grid yet."""
    analyzer = tvm.sym.Analyzer()
    for parameter, shape in zip(kernel.params, shapes, strict=False):
        for extent, value in zip(getattr(parameter.ty, "shape", ()), shape, strict=True):
            if isinstance(extent, tvm.ir.Var):
                analyzer.bind(extent, tirx.const(value, extent.ty.dtype))
    grid = {
        str(node.node.thread_tag): int(analyzer.simplify(node.value))
        for node in _statements(kernel.body)
        if isinstance(node, tirx.AttrStmt) and node.attr_key == "thread_extent"
    }
    extents = [extent for tag, extent in grid.items() if tag.startswith("blockIdx")]
    return math.prod(extents) if extents else 0


def _statements(statement: Any) -> Iterator[Any]:
    """A statement and those within it that are no branches."""
    yield statement
    for part in getattr(statement, "seq", ()):
        yield from _statements(part)
    if (body := getattr(statement, "body", None)) is not None:
        yield from _statements(body)
