"""What a library says of its kernels, for whoever measures them."""

from __future__ import annotations

from dataclasses import dataclass

from kokoro_tvm.runtime._node import Node

__all__ = ["Kernel", "read_kernels"]


@dataclass(frozen=True)
class Kernel:
    """The operation a kernel computes, and its arithmetic as a polynomial of the steps it computes.

    A step is one position on the time axis of its result. `per_step` is None where nobody counted.
    """

    operation: str
    per_step: float | None = None
    per_step_squared: float = 0.0

    def flops(self, steps: int) -> float | None:
        """Floating-point operations of one call."""
        return None if self.per_step is None else (self.per_step + self.per_step_squared * steps) * steps


def read_kernels(manifest: Node) -> dict[str, Kernel]:
    """Kernels by name from a library's manifest, `{"kernels": {NAME: {"operation": "conv1d", ...}}}`.

    Numbers are `flops_per_step` and `flops_per_step_squared`; a kernel may lack them, and a library the
    table. Raises BundleError where what is there makes no sense.
    """
    if "kernels" not in manifest.names():
        return {}
    kernels = manifest.child("kernels")
    return {name: _kernel(kernels.child(name)) for name in kernels.names()}


def _kernel(node: Node) -> Kernel:
    linear, squared = (
        node.number(key) if key in node.names() else None
        for key in ("flops_per_step", "flops_per_step_squared")
    )
    return Kernel(node.get("operation", str), linear, squared or 0.0)
