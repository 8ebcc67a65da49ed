"""Prints what GPUs' figures allow: the time that all launches of a recipe take at least, without such a GPU.

    .venv/bin/python docs/roofline.py [RECIPE]

The tables of docs/gpu.md. A launch takes as long as its float32 instructions take on the cores that its
workgroups reach, or as its threads take to read what they compute with, or as long as its bytes take through
memory, whichever is more, and the time that starting it takes. Latency, conflicts and how many threads a core
has at a time are left out, so real times are longer.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from kernel_work import Work, work_of
from tvm import relax, tirx

from kokoro_tvm.common.constants import FRAMES_PER_SECOND
from kokoro_tvm.compiler.export import export_component
from kokoro_tvm.compiler.lower import lower
from kokoro_tvm.compiler.passes.select_kernels import WORK
from kokoro_tvm.model.kokoro import load_shipped_config
from kokoro_tvm.model.synthetic import shrink_config
from kokoro_tvm.recipe import Recipe, SyntheticSource, load_recipe
from kokoro_tvm.targets import Machine, resolve

SECONDS = (1.5, 6.0, 20.0)  # of speech
TOKENS_PER_SECOND = 15  # as English is spoken


@dataclass(frozen=True)
class Gpu:
    """A GPU's figures: float32 arithmetic without matrix units in TFLOP/s, memory in GB/s, cores that
    workgroups run on, the time that a launch takes besides, in microseconds, and how many threads multiply
    and add in the time in which one reads a word from shared memory or through the nearest cache: 0 where it
    is not known; and how many multiply matrices in the time in which one multiplies float32: 0 where no
    kernel does."""

    name: str
    tflops: float
    gb_per_s: float
    cores: int
    launch_us: float
    per_word: int = 0
    per_matrix: int = 0


@dataclass(frozen=True)
class Launch:
    """A kernel, executed once. kind: of its operation and sizes; flops: where its operation counts them, as
    the definition has them; work: None where it has no grid yet; bytes: of its arguments."""

    kind: str
    flops: int
    bytes: int
    work: Work | None

    def seconds(self, gpu: Gpu) -> float:
        """The least time on a GPU."""
        memory, within = self.bytes / (gpu.gb_per_s * 1e9), 0.0
        if self.work is not None:
            reached = min(1.0, self.work.groups / gpu.cores)
            computed: float = self.work.instructions
            if self.work.matrices:
                computed += self.work.matrices / gpu.per_matrix
            taken = max(computed, self.work.words * gpu.per_word)
            within = 2 * taken / (gpu.tflops * 1e12 * reached)
        return max(within, memory) + gpu.launch_us * 1e-6


# NVIDIA's datasheets: float32 without tensor cores, memory bandwidth, multiprocessors; these have 64 and 128
# lanes, read 32 words a clock, and multiply and add 1024 elements of matrices. The H100 does twice as many by
# instructions of four subgroups, which our kernels do not use.
# Apple's: 10 cores of 128 lanes at 1.398 GHz; LPDDR5-6400, 128 bits wide.
# Intel's: 6 cores of 128 lanes at 1.35 GHz; LPDDR4X-4267, 128 bits wide.
GPUS = (
    Gpu(
        "NVIDIA A100 SXM, 80 GB",
        tflops=19.5,
        gb_per_s=2039,
        cores=108,
        launch_us=3,
        per_word=2,
        per_matrix=16,
    ),
    Gpu("NVIDIA H100 SXM5", tflops=66.9, gb_per_s=3350, cores=132, launch_us=3, per_word=4, per_matrix=8),
    Gpu("Apple M2, 10 GPU cores", tflops=3.58, gb_per_s=102.4, cores=10, launch_us=5),
    Gpu("Intel Iris Xe, 96 EU", tflops=2.07, gb_per_s=68.3, cores=6, launch_us=10),
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
        module = _select_kernels(recipe, name, machine)
        for of_length, length in zip(found, lengths, strict=True):
            of_length += _launches(module, name, length[component.axis])
    return found


def _select_kernels(recipe: Recipe, component: str, machine: Machine) -> Any:
    """Lower a component's largest bucket and return the module after the pass `select_kernels`."""
    spec = next(s for s in reversed(recipe.artifacts()) if s.component == component)
    first = recipe.checkpoint.sources[0]
    config = load_shipped_config()
    if isinstance(first, SyntheticSource) and first.size == "toy":
        config = shrink_config(config)
    phases: dict[str, Any] = {}
    lower(
        export_component(component, config, spec.length, spec.bucket, recipe.components[component].patches),
        component=component,
        machine=machine,
        passes=recipe.passes,
        pass_context=recipe.pass_context.model_dump(),
        manifest={},
        dump=phases.__setitem__,
    )
    return phases["select_kernels"]


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
    known = json.loads(str(kernel.attrs[WORK])) if WORK in kernel.attrs else {}
    result = shapes[len(given)]
    steps = result[1] if len(result) > 1 else 1
    flops = int(known.get("flops_per_step", 0)) * steps
    kind = _kind(str(call.args[0].name_hint), known, shapes)
    return Launch(kind, flops, sum(sizes), _work(kernel, shapes, flops // 2))


def _kind(name: str, known: Mapping[str, Any], shapes: Sequence[Sequence[int]]) -> str:
    """Convolutions by their sizes: input, output and packed weight."""
    operation = str(known.get("operation", name))
    if not operation.startswith("conv"):
        return operation
    return f"{operation} {shapes[0][-1]} channels by {'x'.join(map(str, shapes[1]))}"


def _shape(type_: Any, analyzer: Any) -> list[int]:
    """Of a tensor; nothing of a number."""
    return [int(analyzer.simplify(extent)) for extent in getattr(type_, "shape", ())]


def _work(kernel: Any, shapes: list[list[int]], least: int) -> Work | None:
    """What a kernel does for arguments of these shapes; least: see `work_of`."""
    analyzer = tvm.sym.Analyzer()
    for parameter, shape in zip(kernel.params, shapes, strict=False):
        for extent, value in zip(getattr(parameter.ty, "shape", ()), shape, strict=True):
            if isinstance(extent, tvm.ir.Var):
                analyzer.bind(extent, tirx.const(value, extent.ty.dtype))
    return work_of(kernel, analyzer, least)


def main(name: str = "cuda") -> None:
    lengths = [
        {"tokens": round(seconds * TOKENS_PER_SECOND), "frames": round(seconds * FRAMES_PER_SECOND)}
        for seconds in SECONDS
    ]
    by_length = dict(zip(SECONDS, launches(load_recipe(name), lengths), strict=True))
    _print("speech", {f"{seconds:g} s": found for seconds, found in by_length.items()})
    kinds = defaultdict(list)
    for each in by_length[SECONDS[-1]]:
        kinds[each.kind].append(each)
    print()
    _print(f"{SECONDS[-1]:g} s of speech by kernel", kinds)


def _print(title: str, rows: Mapping[str, Sequence[Launch]]) -> None:
    """A table: GFLOP as the definition has them and as kernels compute, GB of arguments, ms on each GPU that
    has what they use."""
    matrices = any(each.work and each.work.matrices for found in rows.values() for each in found)
    gpus = [gpu for gpu in GPUS if gpu.per_matrix or not matrices]
    names = (title, "launches", "GFLOP", "computed", "GB", *(gpu.name for gpu in gpus))
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for row, found in rows.items():
        computed = sum(
            2 * (each.work.instructions + each.work.matrices) for each in found if each.work is not None
        )
        counts = (sum(each.flops for each in found), computed, sum(each.bytes for each in found))
        times = (f"{1e3 * sum(each.seconds(gpu) for each in found):.2f}" for gpu in gpus)
        cells = (row, f"{len(found)}", *(f"{count / 1e9:.2f}" for count in counts), *times)
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
