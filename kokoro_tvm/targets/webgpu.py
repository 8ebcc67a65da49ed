"""GPUs as browsers offer them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from kokoro_tvm.targets.gpu import GpuKind, GpuTarget, GpuTools
from kokoro_tvm.targets.runners.chromium import CHROMIUM
from kokoro_tvm.targets.runners.local import LOCAL
from kokoro_tvm.targets.runners.node import NODE
from kokoro_tvm.targets.runners.wgpu import WGPU
from kokoro_tvm.targets.tools import RuntimeLibrary

if TYPE_CHECKING:
    from kokoro_tvm.targets.runners import Runner

__all__ = ["KIND", "WebGpuTarget"]


class WebGpuTarget(GpuTarget):
    """Any GPU that WebGPU reaches."""

    kind: Literal["webgpu"] = Field(description="Kind of target: `webgpu` for GPUs that browsers reach.")


class WebGpu(GpuKind):
    """GPUs that WebGPU reaches; their kernels are WGSL."""

    spec = WebGpuTarget

    def tools(self, spec: GpuTarget) -> WebGpuTools:
        return WebGpuTools(spec)


class WebGpuTools(GpuTools):
    """Those for GPUs that WebGPU reaches."""

    def executor(self, host: Runner | None) -> Runner | None:
        """WebGPU itself: a browser's, or with a host for this machine on whatever Vulkan there is."""
        if host is NODE:
            return CHROMIUM
        return WGPU if host is LOCAL else None

    def runtime_libraries(self, ffi: bool = False) -> Mapping[str, RuntimeLibrary]:
        """That of WebAssembly, which a page has no other way to."""
        return self.host.runtime_libraries(ffi) if KIND.is_for_browsers(self.spec) else {}


KIND = WebGpu()
