"""NVIDIA's GPUs."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from kokoro_tvm.common.spec import GpuArchitecture, refuse_duplicates
from kokoro_tvm.native.toolchains import nvrtc
from kokoro_tvm.native.toolchains.compiler_names import compiler_names
from kokoro_tvm.targets.gpu import GpuKind, GpuTarget, GpuTools

if TYPE_CHECKING:
    from kokoro_tvm.runtime.bundle.device_code import DeviceCode


def _check_architectures(architectures: tuple[str, ...]) -> tuple[str, ...]:
    """Raise PydanticCustomError for an architecture that the compiler does not know."""
    for index, word in enumerate(architectures):
        if word not in (valid := compiler_names().gpus):
            context = {"what": "GPU architecture", "word": word, "valid": valid, "index": index}
            raise PydanticCustomError("unknown_word", "unknown {what} {word}", context)
    return architectures


class CudaTarget(GpuTarget):
    """NVIDIA's GPUs of some architectures."""

    kind: Literal["cuda"] = Field(description="Kind of target: `cuda` for NVIDIA's GPUs.")
    arch: Annotated[
        tuple[GpuArchitecture, ...],
        Field(min_length=1),
        AfterValidator(refuse_duplicates),
        AfterValidator(_check_architectures),
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
