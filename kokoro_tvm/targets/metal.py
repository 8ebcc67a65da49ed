"""Apple's GPUs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kokoro_tvm.targets.gpu import GpuKind, GpuTarget

__all__ = ["KIND", "MetalTarget"]


class MetalTarget(GpuTarget):
    """Apple's GPUs."""

    kind: Literal["metal"] = Field(description="Kind of target: `metal` for Apple's GPUs.")


class Metal(GpuKind):
    """Apple's GPUs; their kernels are source, which the system compiles when they are loaded."""

    spec = MetalTarget
    name = "metal"


KIND = Metal()
