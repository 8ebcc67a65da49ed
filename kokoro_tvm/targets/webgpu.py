"""GPUs as browsers offer them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kokoro_tvm.targets.gpu import GpuKind, GpuTarget

__all__ = ["KIND", "WebGpuTarget"]


class WebGpuTarget(GpuTarget):
    """Any GPU that WebGPU reaches."""

    kind: Literal["webgpu"] = Field(description="Kind of target: `webgpu` for GPUs that browsers reach.")


class WebGpu(GpuKind):
    """GPUs that WebGPU reaches; their kernels are WGSL."""

    spec = WebGpuTarget
    name = "webgpu"


KIND = WebGpu()
