"""Apple's GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from kokoro_tvm.common.platforms import detect_platform
from kokoro_tvm.targets.gpu import GpuKind, GpuTarget, GpuTools
from kokoro_tvm.targets.runners.local import LOCAL

if TYPE_CHECKING:
    from kokoro_tvm.targets.runners import Runner


class MetalTarget(GpuTarget):
    """Apple's GPUs."""

    kind: Literal["metal"] = Field(description="Kind of target: `metal` for Apple's GPUs.")


class Metal(GpuKind):
    """Apple's GPUs. The system compiles the kernels' source when it loads them."""

    spec = MetalTarget

    def tools(self, spec: GpuTarget) -> MetalTools:
        """Return the tools for Apple's GPUs."""
        return MetalTools(spec)


class MetalTools(GpuTools):
    """Tools for Apple's GPUs."""

    def executor(self, host: Runner | None) -> Runner | None:
        """Return the host's runner on a Mac, else that of the kernels' source; None if there is none."""
        on_mac = detect_platform().system == "darwin"
        return host if host is LOCAL and on_mac else super().executor(host)


KIND = Metal()
