"""Operation and arithmetic of a library's kernels, for measurements."""

from __future__ import annotations

from dataclasses import dataclass

from kokoro_tvm.runtime.bundle.node import Node

__all__ = ["Kernel", "read_kernels"]


@dataclass(frozen=True)
class Kernel:
    """The operation a kernel computes, and its arithmetic.

    `flops_per_step` counts multiplications and additions for each position on the time axis of the result
    (axis 1 of (1, T, C)); it is None where they were not counted. The last `results` tensors a kernel is
    called with are what it writes, the first of them with that axis.
    """

    operation: str
    flops_per_step: float | None = None
    results: int = 1


def read_kernels(table: Node) -> dict[str, Kernel]:
    """Kernels by name from a library's table, `{NAME: {"operation": "conv1d", "flops_per_step": 512}}`.

    Raises BundleError where an entry has another type.
    """
    return {name: _kernel(table.child(name)) for name in table.names()}


def _kernel(node: Node) -> Kernel:
    flops = node.number("flops_per_step") if node.has("flops_per_step") else None
    results = node.get("results", int) if node.has("results") else 1
    return Kernel(node.get("operation", str), flops, results)
