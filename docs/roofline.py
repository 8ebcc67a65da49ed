"""Prints what GPUs' figures allow: the time that all launches of a recipe take at least, without such a GPU.

    .venv/bin/python docs/roofline.py [RECIPE]

The tables of docs/gpu.md. A launch takes as long as its arithmetic on the cores that its workgroups reach, or
as long as its bytes take through memory, whichever is more, and the time that starting it takes. Caches,
latency and occupancy within a core are left out, so real times are longer.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax, tirx

from kokoro_tvm.constants import FRAMES_PER_SECOND
from kokoro_tvm.lab.phases import phases_of
from kokoro_tvm.passes.select_kernels import WORK
from kokoro_tvm.recipe import Recipe, load_recipe
from kokoro_tvm.targets import resolve

SECONDS = (1.5, 6.0, 20.0)  # of speech
TOKENS_PER_SECOND = 15  # as English is spoken


@dataclass(frozen=True)
class Gpu:
    """A GPU's figures: float32 arithmetic without matrix units in TFLOP/s, memory in GB/s, cores that
    workgroups run on, and the time that a launch takes besides, in microseconds."""

    name: str
    tflops: float
    gb_per_s: float
    cores: int
    launch_us: float


@dataclass(frozen=True)
class Launch:
    """A kernel, executed once. flops: where its operation counts them; bytes: of its arguments; groups: how
    many workgroups it has, 0 where it has no grid yet."""

    flops: int
    bytes: int
    groups: int

    def seconds(self, gpu: Gpu) -> float:
        """The least time on a GPU."""
        reached = min(1.0, self.groups / gpu.cores) if self.groups else 1.0
        arithmetic, memory = self.flops / (gpu.tflops * 1e12 * reached), self.bytes / (gpu.gb_per_s * 1e9)
        return max(arithmetic, memory) + gpu.launch_us * 1e-6


# NVIDIA's datasheets: float32 without tensor cores, memory bandwidth, multiprocessors. Apple's: 10 cores of
# 128 lanes at 1.398 GHz; LPDDR5-6400, 128 bits wide.
GPUS = (
    Gpu("NVIDIA A100 SXM, 80 GB", tflops=19.5, gb_per_s=2039, cores=108, launch_us=3),
    Gpu("NVIDIA H100 SXM5", tflops=66.9, gb_per_s=3350, cores=132, launch_us=3),
    Gpu("Apple M2, 10 GPU cores", tflops=3.58, gb_per_s=102.4, cores=10, launch_us=5),
)


def launches(recipe: Recipe, lengths: Sequence[Mapping[str, int]]) -> list[list[Launch]]:
    """For each of the lengths every launch of the recipe's components on its GPU, in order.

    lengths: by axis, "tokens" and "frames".
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
                yield _launch(module, call, analyzer)


def _launch(module: Any, call: Any, analyzer: Any) -> Launch:
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


def main(name: str = "cuda") -> None:
    lengths = [
        {"tokens": round(seconds * TOKENS_PER_SECOND), "frames": round(seconds * FRAMES_PER_SECOND)}
        for seconds in SECONDS
    ]
    print("| speech | launches | GFLOP | GB |", " | ".join(gpu.name for gpu in GPUS), "|")
    for seconds, found in zip(SECONDS, launches(load_recipe(name), lengths), strict=True):
        flops, moved = sum(each.flops for each in found), sum(each.bytes for each in found)
        times = (f"{1e3 * sum(each.seconds(gpu) for each in found):.1f}" for gpu in GPUS)
        cells = (f"{len(found)}", f"{flops / 1e9:.1f}", f"{moved / 1e9:.2f}", *times)
        print(f"| {seconds:g} s | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
