"""Tools for a target's code on the build machine: linker, runner, TVM runtime."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from kokoro_tvm.native.libtvm import Compiler
    from kokoro_tvm.native.toolchains import Toolchain
    from kokoro_tvm.native.toolchains.cc import CCompiler
    from kokoro_tvm.runtime.bundle.device_code import DeviceCode
    from kokoro_tvm.targets.runners import Runner


@dataclass(frozen=True)
class PinnedLibrary:
    """A library inside a wheel for another platform, which pip downloads.

    Attributes:
        package: Name of the wheel's package.
        version: Version of the package.
        platforms: Platform tags of the wheel.
        python: CPython version of the wheel, independent of the one that builds.
        wheel: SHA-256 of the wheel.
        member: Path of the library in the wheel.
        sha256: SHA-256 of the library.
    """

    package: str
    version: str
    platforms: tuple[str, ...]
    python: str
    wheel: str
    member: str
    sha256: str

    @property
    def name(self) -> str:
        """Return the library's file name."""
        return Path(self.member).name


@dataclass(frozen=True)
class CompiledLibrary:
    """A library that `kokoro_tvm.native.libtvm` compiles with a C++ compiler."""

    name: str
    compiler: Compiler


RuntimeLibrary: TypeAlias = Path | PinnedLibrary | CompiledLibrary
"""Source of a library of the TVM runtime: an installed file, a wheel, or TVM's sources."""


class Tools(ABC):
    """Tools for one target; `spec` is a recipe's `target`."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    @abstractmethod
    def toolchain(self) -> Toolchain:
        """Return the linker of object code."""

    def assembler(self) -> str:
        """Return the version of the compiler to machine code. Raises BuildError if it is missing."""
        raise NotImplementedError

    def assemble(self, code: DeviceCode) -> tuple[DeviceCode, dict[str, dict[str, dict[str, int]]]]:
        """Compile kernels to machine code.

        Returns:
            The code, and architecture -> kernel -> resource -> amount.

        Raises:
            BuildError: The compiler is missing or refuses a kernel.
        """
        raise NotImplementedError

    def runner(self) -> Runner | None:
        """Return the runner of the code, or None if nothing here runs it."""
        return None

    def c_compiler(self) -> CCompiler | None:
        """Return the compiler of libkokoro for the target, or None if libkokoro does not support it."""
        return None

    def runtime_libraries(self, ffi: bool = False) -> Mapping[str, RuntimeLibrary]:
        """Return the libraries of the TVM runtime that the target's bundles bring.

        `runtime` is libtvm_runtime. `ffi` is libtvm_ffi, if it is needed or if `ffi` is true. Empty: the
        runtime has to be installed.

        Raises:
            BuildError: A library that should be there is missing.
        """
        return {}

    def runner_libraries(self) -> Mapping[str, RuntimeLibrary]:
        """Return the TVM runtime that the runner executes code with, if it needs one.

        It is the runtime of `runtime_libraries`, unless the runner is a program for another platform than
        the code.
        """
        return self.runtime_libraries()

    def list_lacking_features(self, precision: str) -> tuple[str, ...]:
        """Return features that the code needs and this machine lacks, without asking the compiler."""
        return ()
