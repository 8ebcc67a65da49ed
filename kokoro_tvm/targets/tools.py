"""What handles a target's code on the machine that builds: links it, runs it, has a TVM runtime for it."""

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

__all__ = ["CompiledLibrary", "PinnedLibrary", "RuntimeLibrary", "Tools"]


@dataclass(frozen=True)
class PinnedLibrary:
    """A library inside a wheel of another platform, which pip fetches.

    platforms: tags of that platform; python: CPython of the wheel, whichever Python builds; wheel: SHA-256 of
    the wheel; member: the library's path in it; sha256: of the library.
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
        """The library's file name."""
        return Path(self.member).name


@dataclass(frozen=True)
class CompiledLibrary:
    """A library that `kokoro_tvm.native.libtvm` compiles.

    name: its file name; compiler: of C++.
    """

    name: str
    compiler: Compiler


RuntimeLibrary: TypeAlias = Path | PinnedLibrary | CompiledLibrary
"""Where a library of the TVM runtime is from: what is installed here, a wheel, or TVM's sources."""


class Tools(ABC):
    """Those for one target. spec: a recipe's `target`."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    @abstractmethod
    def toolchain(self) -> Toolchain:
        """What makes a loadable file of the object code."""

    def assembler(self) -> str:
        """What compiles kernels to machine code, and its version. Raises BuildError where it is missing."""
        raise NotImplementedError

    def assemble(self, code: DeviceCode) -> tuple[DeviceCode, dict[str, dict[str, dict[str, int]]]]:
        """Kernels as machine code; architecture -> kernel -> what it takes of a GPU. Raises BuildError."""
        raise NotImplementedError

    def runner(self) -> Runner | None:
        """What runs the code; None where nothing does."""
        return None

    def c_compiler(self) -> CCompiler | None:
        """What compiles libkokoro for the target; None where it is not for such targets."""
        return None

    def runtime_libraries(self, ffi: bool = False) -> Mapping[str, RuntimeLibrary]:
        """The TVM runtime for the target, which its bundles bring: `runtime` is libtvm_runtime, `ffi`
        libtvm_ffi where that is brought too, as it is if requested. Empty where the runtime has to be
        installed.

        Raises BuildError where there should be one.
        """
        return {}

    def runner_libraries(self) -> Mapping[str, RuntimeLibrary]:
        """The TVM runtime that a runner which needs one executes the code with: what bundles bring, unless
        the runner is a program for another platform than the code."""
        return self.runtime_libraries()

    def lacking(self, precision: str) -> tuple[str, ...]:
        """Features that the code is certain to need and this machine lacks, found without the compiler."""
        return ()
