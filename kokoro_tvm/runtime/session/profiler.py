"""Profiler of kernels: time, bytes and arithmetic, recorded in the virtual machine."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kokoro_tvm.runtime.bundle.node import ManifestNode
from kokoro_tvm.runtime.session.session import Session

OVERHEAD = "vm"  # the operation of the virtual machine's own work: shapes, allocation, tuples


@dataclass(frozen=True)
class Kernel:
    """A kernel's operation and arithmetic.

    Attributes:
        operation: such as "conv1d".
        flops_per_step: multiplications and additions per position on the time axis, axis 1 of the first
            result (1, T, C); None if they were not counted.
        results: number of outputs, which are the last arguments of a call.
    """

    operation: str
    flops_per_step: float | None = None
    results: int = 1


@dataclass(frozen=True)
class Call:
    """A call of a kernel.

    Attributes:
        component: that called it.
        name: of the kernel.
        start: of time.perf_counter().
        seconds: wall time.
        bytes: of all arguments, each counted once.
        steps: size of axis 1 of its first result (1, T, C).
    """

    component: str
    name: str
    start: float
    seconds: float
    bytes: int
    steps: int


@dataclass(frozen=True)
class Usage:
    """Sum over the calls of a kernel, an operation or a component.

    `flops` is None if their arithmetic is unknown. `share` is relative to all recorded calls.
    """

    component: str
    name: str
    operation: str
    calls: int
    seconds: float
    share: float
    bytes: int
    flops: float | None

    @property
    def gflops_per_second(self) -> float | None:
        """Arithmetic throughput, or None if it is unknown."""
        return None if self.flops is None else self.flops / self.seconds / 1e9

    @property
    def gigabytes_per_second(self) -> float:
        """Memory throughput."""
        return self.bytes / self.seconds / 1e9


def kernels_of(session: Session) -> dict[tuple[str, str], Kernel]:
    """Return kernels by component and name, of libraries that list them."""
    return {
        (component, name): kernel
        for component, table in session.kernel_tables()
        for name, kernel in read_kernels(table).items()
    }


def read_kernels(table: ManifestNode) -> dict[str, Kernel]:
    """Parse a library's table, `{NAME: {"operation": "conv1d", "flops_per_step": 512}}`.

    Raises:
        BundleError: an entry has another type.
    """
    return {name: _kernel(table.child(name)) for name in table.names()}


def _kernel(node: ManifestNode) -> Kernel:
    flops = node.number("flops_per_step") if node.has("flops_per_step") else None
    results = node.get("results", int) if node.has("results") else 1
    return Kernel(node.get("operation", str), flops, results)


@contextmanager
def record_calls(session: Session) -> Iterator[list[Call]]:
    """Record the calls that a session's compiled code makes within the block, in order.

    Recording takes time: measure the time of an utterance without it.
    """
    calls: list[Call] = []
    kernels = kernels_of(session)
    session.instrument(lambda component: _observer(component, kernels, calls.append))
    try:
        yield calls
    finally:
        session.instrument(None)


def _observer(
    component: str, kernels: dict[tuple[str, str], Kernel], add: Callable[[Call], None]
) -> Callable[..., None]:
    clock = time.perf_counter
    unknown = Kernel("")
    start = 0.0

    def observe(function: Any, name: str, before: bool, result: Any, *arguments: Any) -> None:
        nonlocal start
        if before:
            start = clock()
            return
        seconds = clock() - start
        tensors = [argument for argument in arguments if hasattr(argument, "numel")]
        size = 0 if _is_overhead(name) else sum(t.numel() * t.dtype.itemsize for t in tensors)
        results = tensors[-kernels.get((component, name), unknown).results :]
        steps = int(results[0].shape[1]) if results and results[0].ndim > 1 else 1
        add(Call(component, str(name), start, seconds, size, steps))

    return observe


def summarize(
    calls: Iterable[Call], kernels: dict[tuple[str, str], Kernel], by: str = "kernel", runs: int = 1
) -> list[Usage]:
    """Sum calls by kernel, operation or component, longest first.

    Args:
        calls: of all runs. The virtual machine's own work counts as one kernel of each component.
        kernels: by component and name.
        by: "kernel", "operation" or "component"; by operation, the component of a Usage is "".
        runs: number of equal utterances; the sums are those of one.
    """
    groups: dict[tuple[str, str, str], list[Call]] = {}
    total = 0.0
    for call in calls:
        kernel = kernels.get((call.component, call.name))
        operation = kernel.operation if kernel else _guess_operation(call)
        name = OVERHEAD if operation == OVERHEAD else call.name.removeprefix(f"{call.component}_")
        key = {
            "kernel": (call.component, name, operation),
            "operation": ("", operation, operation),
            "component": (call.component, call.component, ""),
        }[by]
        groups.setdefault(key, []).append(call)
        total += call.seconds
    usages = [_usage(key, group, kernels, total, runs) for key, group in groups.items()]
    return sorted(usages, key=lambda usage: -usage.seconds)


def _guess_operation(call: Call) -> str:
    """Return the name of an unlisted kernel without component and number."""
    if _is_overhead(call.name):
        return OVERHEAD
    return re.sub(r"(?<!\d)_?\d+$", "", call.name.removeprefix(f"{call.component}_"))


def _is_overhead(name: str) -> bool:
    return name.startswith("vm.builtin.") or name == "shape_func"


def _usage(
    key: tuple[str, str, str],
    calls: list[Call],
    kernels: dict[tuple[str, str], Kernel],
    total: float,
    runs: int,
) -> Usage:
    component, name, operation = key
    seconds = sum(call.seconds for call in calls)
    steps_of = [(call.steps, kernels.get((call.component, call.name))) for call in calls]
    flops = [steps * kernel.flops_per_step for steps, kernel in steps_of if kernel and kernel.flops_per_step]
    return Usage(
        component=component,
        name=name,
        operation=operation,
        calls=len(calls) // runs,
        seconds=seconds / runs,
        share=seconds / total,
        bytes=sum(call.bytes for call in calls) // runs,
        flops=sum(flops) / runs if flops else None,
    )


def trace_events(calls: Iterable[Call]) -> dict[str, Any]:
    """Return calls in the JSON format of chrome://tracing and ui.perfetto.dev."""
    calls = list(calls)
    zero = min((call.start for call in calls), default=0.0)
    events = [
        {
            "name": call.name,
            "cat": call.component,
            "ph": "X",
            "ts": (call.start - zero) * 1e6,
            "dur": call.seconds * 1e6,
            "pid": 1,
            "tid": 1,
            "args": {"component": call.component, "bytes": call.bytes, "steps": call.steps},
        }
        for call in calls
    ]
    return {"traceEvents": events, "displayTimeUnit": "ms"}
