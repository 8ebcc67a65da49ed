"""Kinds of targets, and the machine that a recipe's target is resolved to."""

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

KERNELS = ".kernels"
"""Suffix of the file with the kernels for a GPU that a library launches."""


MACHINE_CODE = ".gpu"
"""Suffix of the file with the same kernels as machine code."""


@dataclass(frozen=True)
class Machine:
    """A resolved target.

    Attributes:
        kind: Name of the `TargetKind`.
        options: What the code generator gets, for example mtriple, mcpu and mattr of `llvm`.
        features: What kernels may use.
        required: CPU features that a machine needs to run the code.
    """

    kind: str
    options: Mapping[str, Any] = field(hash=False)  # a mapping has no hash, a Machine is a key of caches
    features: Features
    required: tuple[str, ...] = ()

    @property
    def target(self) -> dict[str, Any]:
        """Return kind and options, as manifests store them."""
        return {"kind": self.kind, **self.options}

    def to_json(self) -> dict[str, Any]:
        """Return the machine as JSON."""
        return {
            "kind": self.kind,
            "options": dict(self.options),
            "features": self.features.to_json(),
            "required": list(self.required),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Machine:
        """Read what `to_json` returned."""
        return cls(
            data["kind"], data["options"], Features.from_json(data["features"]), tuple(data["required"])
        )


class TargetKind(ABC):
    """A kind of target. `spec` arguments are instances of the class attribute `spec`: a recipe's `target`.

    Only `resolve` and `tvm` may import the compiler.
    """

    spec: ClassVar[type[TargetSpec]]
    """The keys of a recipe's `target`; its `kind` is the literal name of the module."""

    precisions: ClassVar[tuple[str, ...]] = ("float32",)
    """Values of a recipe's `precision`."""

    has_kernels: ClassVar[bool] = False
    """Whether libraries launch GPU kernels, which are a file of their own."""

    has_machine_code: ClassVar[bool] = False
    """Whether kernels are compiled to machine code here, not by the GPU's driver."""

    @abstractmethod
    def describe(self, spec: Any) -> str:
        """Describe the target in a few words."""

    def of_component(self, spec: Any, component: str) -> TargetSpec:
        """Return the target that a component is compiled for: `spec`, or its host."""
        target: TargetSpec = spec
        return target

    @abstractmethod
    def resolve(self, spec: Any, precision: str) -> Machine:
        """Resolve a recipe's target. Raises BuildError for an unknown machine."""

    @abstractmethod
    def tvm(self, machine: Machine) -> Any:
        """Return TVM's Target for a machine."""

    @abstractmethod
    def tools(self, spec: Any) -> Tools:
        """Return the tools for the code on the build machine."""

    def platform(self, spec: Any) -> Platform:
        """Return the platform that loads the code; for a GPU, its host's."""
        return detect_platform()

    def is_for_browsers(self, spec: Any) -> bool:
        """Return whether pages run the code."""
        return self.platform(spec) == WEB

    def show(self, machine: Machine) -> dict[str, str]:
        """Return a machine's properties for a page."""
        return {name: str(value) for name, value in machine.options.items()}

    def facts(self, spec: Any) -> dict[str, Any]:
        """Return what `resolve` reads from the build machine, for the key of the stage `machine`."""
        return {}
