"""What kinds of GPU have in common: a host, which launches kernels and may compute components itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from kokoro_tvm.common.constants import ComponentName
from kokoro_tvm.common.features import Features, Workgroup
from kokoro_tvm.common.platforms import Platform
from kokoro_tvm.common.spec import TargetSpec, refuse_duplicates
from kokoro_tvm.targets.base import Machine, TargetKind
from kokoro_tvm.targets.cpu import LlvmTarget
from kokoro_tvm.targets.llvm import KIND as HOST
from kokoro_tvm.targets.runners.local import LOCAL
from kokoro_tvm.targets.runners.qemu import Qemu
from kokoro_tvm.targets.runners.source.runner import EmulatedSource, SourceRunner
from kokoro_tvm.targets.tools import RuntimeLibrary, Tools

if TYPE_CHECKING:
    from kokoro_tvm.native.toolchains import Toolchain
    from kokoro_tvm.targets.runners import Runner

__all__ = ["GpuKind", "GpuTarget", "GpuTools"]

_HOST = ("mtriple", "mcpu", "mattr")  # of a machine's options, what is the host's
_THREADS, _SHARED_BYTES = 256, 16384  # of a workgroup: what every WebGPU has, and every other GPU


class GpuTarget(TargetSpec):
    """A GPU and its host."""

    host: LlvmTarget = Field(description="The CPU that launches the kernels, as a target of kind `llvm`.")
    host_components: Annotated[tuple[ComponentName, ...], AfterValidator(refuse_duplicates)] = Field(
        default=("bert", "duration", "text_encoder"),
        description="Components that the host computes itself: the text side, whose tensors are small.",
    )

    @property
    def not_run(self) -> str:
        return super().not_run or self.host.not_run.replace("target", "host")


class GpuKind(TargetKind):
    """A kind of GPU."""

    spec: ClassVar[type[TargetSpec]] = GpuTarget
    precisions = ("float32", "float16")
    has_kernels = True
    multiplies_matrices: ClassVar[bool] = False
    """Whether there are units for it that TVM's text can use."""

    def describe(self, spec: GpuTarget) -> str:
        return f"{spec.kind}, launched by {HOST.describe(spec.host)}"

    def of_component(self, spec: GpuTarget, component: str) -> TargetSpec:
        return spec.host if component in spec.host_components else spec

    def resolve(self, spec: GpuTarget, precision: str) -> Machine:
        host = HOST.resolve(spec.host, "float32")
        limits = Workgroup(_THREADS, _SHARED_BYTES)
        features = Features(
            lanes=1,
            registers=0,
            precision=precision,
            kernels="gpu",
            eager_memory=True,
            matrices=self.multiplies_matrices,
            workgroup=limits,
        )
        options = {**host.options, **self.options(spec)}
        return Machine(spec.kind, options, features, host.required)

    def options(self, spec: Any) -> dict[str, Any]:
        """What names the GPU to the code generator, besides its kind."""
        return {}

    def tvm(self, machine: Machine) -> Any:
        import tvm

        host = {key: machine.options[key] for key in _HOST if machine.options.get(key)}
        own = {"kind": machine.kind, **self.named(dict(machine.options))}
        return tvm.target.Target(own, host=HOST.tvm(replace(machine, options=host)))

    def named(self, options: dict[str, Any]) -> dict[str, Any]:
        """The GPU's options as TVM's Target takes them."""
        return {}

    def platform(self, spec: GpuTarget) -> Platform:
        return HOST.platform(spec.host)

    def show(self, machine: Machine) -> dict[str, str]:
        features = machine.features
        limits = features.workgroup
        assert limits is not None
        return {
            "GPU": machine.kind,
            "workgroups": f"at most {limits.threads} threads, {limits.shared_bytes} bytes of shared memory",
            "host": str(machine.options["mcpu"]),
        }

    def facts(self, spec: GpuTarget) -> dict[str, Any]:
        return HOST.facts(spec.host)

    def tools(self, spec: Any) -> GpuTools:
        return GpuTools(spec)


class GpuTools(Tools):
    """Those for a GPU: its host's, but that something executes its kernels."""

    spec: GpuTarget

    def __init__(self, spec: GpuTarget) -> None:
        super().__init__(spec)
        self.host = HOST.tools(spec.host)

    def toolchain(self) -> Toolchain:
        return self.host.toolchain()

    def runner(self) -> Runner | None:
        """What executes the kernels here, and the host's code: in this process, or emulated."""
        return self.executor(self.host.runner()) if self.spec.run else None

    def executor(self, host: Runner | None) -> Runner | None:
        """The kernels' source, on the CPU that runs the host's code; host: what does that."""
        if host is LOCAL:
            return SourceRunner(self.spec.kind)
        return EmulatedSource(self.spec.kind, host) if isinstance(host, Qemu) else None

    def runner_libraries(self) -> Mapping[str, RuntimeLibrary]:
        return self.host.runner_libraries()

    def lacking(self, precision: str) -> tuple[str, ...]:
        return self.host.lacking("float32") if self.spec.run else ()
