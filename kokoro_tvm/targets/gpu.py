"""Kinds of GPUs: a host launches kernels and may compute some components itself."""

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

_HOST = ("mtriple", "mcpu", "mattr")  # a machine's options that are the host's
_THREADS, _SHARED_BYTES = 256, 16384  # per workgroup: WebGPU's minimum, which every GPU exceeds


class GpuTarget(TargetSpec):
    """A GPU and its host."""

    host: LlvmTarget = Field(description="CPU that launches the kernels, as a target of kind `llvm`.")
    host_components: Annotated[tuple[ComponentName, ...], AfterValidator(refuse_duplicates)] = Field(
        default=("bert", "duration", "text_encoder"),
        description="Components that the host computes: those of the text side, whose tensors are small.",
    )

    @property
    def not_run(self) -> str:
        """Return why the code is not run, from the GPU's keys or the host's."""
        return super().not_run or self.host.not_run.replace("target", "host")


class GpuKind(TargetKind):
    """A kind of GPU."""

    spec: ClassVar[type[TargetSpec]] = GpuTarget
    precisions = ("float32", "float16")
    has_kernels = True
    multiplies_matrices: ClassVar[bool] = False
    """Whether the GPU has matrix units that TVM's code can use."""

    def describe(self, spec: GpuTarget) -> str:
        """Return kind and host."""
        return f"{spec.kind}, launched by {HOST.describe(spec.host)}"

    def of_component(self, spec: GpuTarget, component: str) -> TargetSpec:
        """Return the host for a component of `host_components`, else the GPU."""
        return spec.host if component in spec.host_components else spec

    def resolve(self, spec: GpuTarget, precision: str) -> Machine:
        """Resolve host and GPU to one machine. Raises BuildError for the host's reasons."""
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
        """Return the code generator's options for the GPU besides its kind."""
        return {}

    def tvm(self, machine: Machine) -> Any:
        """Return TVM's Target with its host."""
        import tvm

        host = {key: machine.options[key] for key in _HOST if machine.options.get(key)}
        device = {"kind": machine.kind, **self.target_options(dict(machine.options))}
        return tvm.target.Target(device, host=HOST.tvm(replace(machine, options=host)))

    def target_options(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the GPU's options as TVM's Target takes them."""
        return {}

    def platform(self, spec: GpuTarget) -> Platform:
        """Return the host's platform."""
        return HOST.platform(spec.host)

    def show(self, machine: Machine) -> dict[str, str]:
        """Return GPU, workgroup limits and host for a page."""
        features = machine.features
        limits = features.workgroup
        assert limits is not None
        return {
            "GPU": machine.kind,
            "workgroups": f"at most {limits.threads} threads, {limits.shared_bytes} bytes of shared memory",
            "host": str(machine.options["mcpu"]),
        }

    def facts(self, spec: GpuTarget) -> dict[str, Any]:
        """Return the host's facts."""
        return HOST.facts(spec.host)

    def tools(self, spec: Any) -> GpuTools:
        """Return the tools for GPUs."""
        return GpuTools(spec)


class GpuTools(Tools):
    """Tools for a GPU: its host's, with a runner that also executes kernels."""

    spec: GpuTarget

    def __init__(self, spec: GpuTarget) -> None:
        super().__init__(spec)
        self.host = HOST.tools(spec.host)

    def toolchain(self) -> Toolchain:
        """Return the host's linker."""
        return self.host.toolchain()

    def runner(self) -> Runner | None:
        """Return the runner of kernels and host code; None if it is forbidden or nothing here runs them."""
        return self.executor(self.host.runner()) if self.spec.run else None

    def executor(self, host: Runner | None) -> Runner | None:
        """Return the runner of the kernels' source beside the host's runner; None if there is none."""
        if host is LOCAL:
            return SourceRunner(self.spec.kind)
        return EmulatedSource(self.spec.kind, host) if isinstance(host, Qemu) else None

    def runner_libraries(self) -> Mapping[str, RuntimeLibrary]:
        """Return the host's runtime."""
        return self.host.runner_libraries()

    def list_lacking_features(self, precision: str) -> tuple[str, ...]:
        """Return the features that the host lacks."""
        return self.host.list_lacking_features("float32") if self.spec.run else ()
