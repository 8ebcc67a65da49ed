"""GPUs as browsers offer them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from kokoro_tvm.runners.chromium import CHROMIUM
from kokoro_tvm.runners.local import LOCAL
from kokoro_tvm.runners.node import NODE
from kokoro_tvm.runners.wgpu import WgpuRunner
from kokoro_tvm.targets.base import RuntimeLibrary
from kokoro_tvm.targets.gpu import GpuKind, GpuTarget
from kokoro_tvm.targets.llvm import KIND as HOST

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
        """WebGPU itself: a browser's, or with a host for this machine on whatever Vulkan there is."""
        if host is NODE:
            return CHROMIUM
        return WgpuRunner() if host is LOCAL else None

    def runtime_libraries(self, spec: GpuTarget, ffi: bool = False) -> Mapping[str, RuntimeLibrary]:
        """That of WebAssembly, which a page has no other way to."""
        return HOST.runtime_libraries(spec.host, ffi) if self.is_for_browsers(spec) else {}


KIND = WebGpu()
