"""NVIDIA's GPUs."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from kokoro_tvm.spec import distinct
from kokoro_tvm.targets.gpu import GpuKind, GpuTarget

__all__ = ["KIND", "CudaTarget"]

_Architecture = Annotated[str, Field(pattern=re.compile(r"^sm_[0-9]+$"))]


class CudaTarget(GpuTarget):
    """NVIDIA's GPUs of some generations."""

    kind: Literal["cuda"] = Field(description="Kind of target: `cuda` for NVIDIA's GPUs.")
    arch: Annotated[tuple[_Architecture, ...], Field(min_length=1), AfterValidator(distinct)] = Field(
        default=("sm_80", "sm_90", "sm_100"),
        description="Generations that get machine code; later ones compile the PTX of the last.",
    )


class Cuda(GpuKind):
    """NVIDIA's GPUs."""

    spec = CudaTarget
    name = "cuda"

    def options(self, spec: CudaTarget) -> dict[str, Any]:
        return {"arch": list(spec.arch)}

    def named(self, options: dict[str, Any]) -> dict[str, Any]:
        return {"arch": options["arch"][0]}


KIND = Cuda()
