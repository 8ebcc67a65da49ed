"""GPUs as browsers offer them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from kokoro_tvm.runners.local import LOCAL
from kokoro_tvm.runners.wgpu import WgpuRunner
from kokoro_tvm.targets.gpu import GpuKind, GpuTarget

if TYPE_CHECKING:
    from kokoro_tvm.runners import Runner

__all__ = ["KIND", "WebGpuTarget"]


class WebGpuTarget(GpuTarget):
    """Any GPU that WebGPU reaches."""

    kind: Literal["webgpu"] = Field(description="Kind of target: `webgpu` for GPUs that browsers reach.")


class WebGpu(GpuKind):
    """GPUs that WebGPU reaches; their kernels are WGSL."""

    spec = WebGpuTarget
    name = "webgpu"

    def executor(self, host: Runner | None) -> Runner | None:
        """WebGPU itself, on whatever Vulkan there is."""
        return WgpuRunner() if host is LOCAL else None


KIND = WebGpu()
