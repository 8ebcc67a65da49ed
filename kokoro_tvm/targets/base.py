"""What code of a kind of target is, and the machine that its recipes are resolved to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from kokoro_tvm.common.features import Features
from kokoro_tvm.common.platforms import WEB, Platform, detect_platform

if TYPE_CHECKING:
    from kokoro_tvm.common.spec import TargetSpec
    from kokoro_tvm.targets.tools import Tools

__all__ = ["KERNELS", "MACHINE_CODE", "Machine", "TargetKind"]


KERNELS = ".kernels"
"""Suffix of the file with the kernels for a GPU that a library launches."""


MACHINE_CODE = ".gpu"
"""Suffix of the file with the same kernels as machine code."""


@dataclass(frozen=True)
class Machine:
    """A resolved target.

    kind: name of the `TargetKind`; options: what names the machine to the code generator (for `llvm`:
    mtriple, mcpu, mattr); features: what kernels may use; required: features that a machine must have to run
    the code.
    """

    kind: str
    options: Mapping[str, Any] = field(hash=False)  # a mapping has no hash, a Machine is a key of caches
    features: Features
    required: tuple[str, ...] = ()

    @property
    def target(self) -> dict[str, Any]:
        """Kind and options, as manifests hold them."""
        return {"kind": self.kind, **self.options}

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "options": dict(self.options),
            "features": self.features.to_json(),
            "required": list(self.required),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Machine:
        return cls(
            data["kind"], data["options"], Features.from_json(data["features"]), tuple(data["required"])
        )


class TargetKind(ABC):
    """One kind of target. `spec` arguments are instances of the class attribute `spec`: a recipe's `target`.

    Only `resolve` and `tvm` may import the compiler.
    """

    spec: ClassVar[type[TargetSpec]]
    """The keys of a recipe's `target`; its `kind` is the literal name of the module."""

    precisions: ClassVar[tuple[str, ...]] = ("float32",)
    """What a recipe's `precision` may be."""

    has_kernels: ClassVar[bool] = False
    """Whether a library launches kernels for a GPU, which are a file of their own."""

    has_machine_code: ClassVar[bool] = False
    """Whether those are compiled to machine code here; else the GPU's driver does it."""

    @abstractmethod
    def describe(self, spec: Any) -> str:
        """The target in a few words."""

    def of_component(self, spec: Any, component: str) -> TargetSpec:
        """What a component is compiled for: the target, or the host of one that leaves it to that."""
        target: TargetSpec = spec
        return target

    @abstractmethod
    def resolve(self, spec: Any, precision: str) -> Machine:
        """The machine a recipe means. Raises BuildError for one the code generator does not know."""

    @abstractmethod
    def tvm(self, machine: Machine) -> Any:
        """TVM's Target for a machine."""

    @abstractmethod
    def tools(self, spec: Any) -> Tools:
        """What handles the code on the machine that builds."""

    def platform(self, spec: Any) -> Platform:
        """What loads the code; of a GPU, its host."""
        return detect_platform()

    def is_for_browsers(self, spec: Any) -> bool:
        """Whether pages run the code."""
        return self.platform(spec) == WEB

    def show(self, machine: Machine) -> dict[str, str]:
        """A machine as pages show it."""
        return {name: str(value) for name, value in machine.options.items()}

    def facts(self, spec: Any) -> dict[str, Any]:
        """What `resolve` finds out about the machine that builds; part of the key of the stage `machine`."""
        return {}
