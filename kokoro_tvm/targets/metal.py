"""Apple's GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from kokoro_tvm.common.platforms import detect_platform
from kokoro_tvm.targets.gpu import GpuKind, GpuTarget, GpuTools
from kokoro_tvm.targets.runners.local import LOCAL

if TYPE_CHECKING:
    from kokoro_tvm.targets.runners import Runner

__all__ = ["KIND", "MetalTarget"]


class MetalTarget(GpuTarget):
    """Apple's GPUs."""

    kind: Literal["metal"] = Field(description="Kind of target: `metal` for Apple's GPUs.")


class Metal(GpuKind):
    """Apple's GPUs; their kernels are source, which the system compiles when they are loaded."""

    spec = MetalTarget

    def tools(self, spec: GpuTarget) -> MetalTools:
        return MetalTools(spec)


class MetalTools(GpuTools):
    """Those for Apple's GPUs."""

    def executor(self, host: Runner | None) -> Runner | None:
        """The GPU of a Mac, on a Mac."""
        on_mac = detect_platform().system == "darwin"
        return host if host is LOCAL and on_mac else super().executor(host)


KIND = Metal()
