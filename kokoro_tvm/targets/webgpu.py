"""GPUs of WebGPU, as browsers offer them."""

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


class WebGpuTarget(GpuTarget):
    """Any GPU of WebGPU."""

    kind: Literal["webgpu"] = Field(description="Kind of target: `webgpu` for GPUs that browsers reach.")


class WebGpu(GpuKind):
    """GPUs of WebGPU. Their kernels are WGSL."""

    spec = WebGpuTarget

    def tools(self, spec: GpuTarget) -> WebGpuTools:
        """Return the tools for WebGPU."""
        return WebGpuTools(spec)


class WebGpuTools(GpuTools):
    """Tools for WebGPU."""

    def executor(self, host: Runner | None) -> Runner | None:
        """Return a browser for a WebAssembly host, wgpu on Vulkan for a host of this machine, else None."""
        if host is NODE:
            return CHROMIUM
        return WGPU if host is LOCAL else None

    def runtime_libraries(self, ffi: bool = False) -> Mapping[str, RuntimeLibrary]:
        """Return the runtime for pages; empty for other hosts."""
        return self.host.runtime_libraries(ffi) if KIND.is_for_browsers(self.spec) else {}


KIND = WebGpu()
