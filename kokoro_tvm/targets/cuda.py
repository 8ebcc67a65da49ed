"""NVIDIA's GPUs."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field

from kokoro_tvm.common.spec import GpuArchitecture, choice_of, refuse_duplicates
from kokoro_tvm.native.toolchains import nvrtc
from kokoro_tvm.native.toolchains.compiler_names import compiler_names
from kokoro_tvm.targets.gpu import GpuKind, GpuTarget, GpuTools

if TYPE_CHECKING:
    from kokoro_tvm.runtime.bundle.device_code import DeviceCode


class CudaTarget(GpuTarget):
    """NVIDIA's GPUs of some architectures."""

    kind: Literal["cuda"] = Field(description="Kind of target: `cuda` for NVIDIA's GPUs.")
    arch: Annotated[
        tuple[Annotated[GpuArchitecture, choice_of("GPU architecture", lambda: compiler_names().gpus)], ...],
        Field(min_length=1),
        AfterValidator(refuse_duplicates),
    ] = Field(
        default=("sm_80", "sm_90", "sm_100"),
        description="GPU architectures to compile machine code for. Later GPUs use the PTX of the last.",
    )


class Cuda(GpuKind):
    """NVIDIA's GPUs."""

    spec = CudaTarget
    has_machine_code = True
    multiplies_matrices = True

    def tools(self, spec: CudaTarget) -> CudaTools:
        """Return the tools for NVIDIA's GPUs."""
        return CudaTools(spec)

    def options(self, spec: CudaTarget) -> dict[str, Any]:
        """Return the architectures."""
        return {"arch": list(spec.arch)}

    def target_options(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the first architecture, by which TVM generates code."""
        return {"arch": options["arch"][0]}


class CudaTools(GpuTools):
    """Tools for NVIDIA's GPUs, with NVRTC as the compiler of kernels."""

    spec: CudaTarget

    def assembler(self) -> str:
        """Return the version of NVRTC."""
        return nvrtc.version()

    def assemble(self, code: DeviceCode) -> tuple[DeviceCode, dict[str, dict[str, dict[str, int]]]]:
        """Compile CUDA source to one fat binary, with each kernel's resources."""
        binary, parts = nvrtc.fat_binary(code.source, self.spec.arch)
        resources = {
            name: {kernel: asdict(usage) for kernel, usage in part.resources.items()}
            for name, part in parts.items()
            if part.resources
        }
        return replace(code, form="cubin", code={"": binary}), resources


KIND = Cuda()
