"""Runners of GPU bundles: host code in this process or emulated, kernels from source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_tvm.native.toolchains.cc import CCompiler, linux_compiler
from kokoro_tvm.native.toolchains.gnu import GNU
from kokoro_tvm.targets.runners import Runner
from kokoro_tvm.targets.runners.qemu import Qemu
from kokoro_tvm.targets.runners.source.program import PURPOSE, compile_kernels, headers_digest

if TYPE_CHECKING:
    from kokoro_tvm.runtime.bundle.manifest import Bundle
    from kokoro_tvm.runtime.session.session import Session
    from kokoro_tvm.targets.runners.process import ProcessSession


class SourceRunner(Runner):
    """This process, with the kernels of one kind of GPU compiled as C++."""

    packages = GNU.packages

    def __init__(self, kind: str) -> None:
        self.kind = kind

    @property
    def way(self) -> str:
        """Return how the code is run."""
        return f"with its kernels for {self.kind} compiled as C++"

    def version(self) -> str:
        """Return kind and compiler."""
        return f"{self.kind} as C++, {GNU.version()}"

    def facts(self) -> dict[str, Any]:
        """Return the compiler, and the digest of the headers."""
        return {"compiler": self.version(), "headers": headers_digest()}

    def session(self, bundle: Bundle, threads: int, libraries: Sequence[Path] = ()) -> Session:
        """Load the code in this process, with the kernels' source as the GPU."""
        from kokoro_tvm.runtime.session.session import Session
        from kokoro_tvm.targets.runners.source.device import SourceDevice

        return Session(bundle, threads, device=SourceDevice(self.kind))


class EmulatedSource(Runner):
    """QEMU, with the kernels of one kind of GPU compiled as C++."""

    needs_runtime = True

    def __init__(self, kind: str, host: Qemu) -> None:
        self.kind = kind
        self.host = host

    @property
    def way(self) -> str:
        """Return how the code is run."""
        return f"{self.host.way}, with its kernels for {self.kind} compiled as C++"

    @property
    def packages(self) -> tuple[str, ...]:
        """Return Debian's packages of emulator and compilers."""
        return (*self.host.packages, *self.compiler.packages)

    @property
    def compiler(self) -> CCompiler:
        """Return the compiler of the kernels."""
        return linux_compiler(self.host.architecture, "g++")

    def version(self) -> str:
        """Return emulator, kind and compiler."""
        return f"{self.host.version()}, {self.kind} as C++, {self._compiler_version()}"

    def facts(self) -> dict[str, Any]:
        """Return the host's facts, the compiler, and the digest of the headers."""
        kernels = {"compiler": self._compiler_version(), "headers": headers_digest()}
        return {"kind": self.kind, "host": self.host.facts(), "kernels": kernels}

    def session(self, bundle: Bundle, threads: int, libraries: Sequence[Path] = ()) -> ProcessSession:
        """Start the emulator and load a bundle with its kernels."""
        from kokoro_tvm.runtime.bundle.device_code import DeviceCode

        def compiled(text: bytes, out: Path) -> None:
            """Compile the text of kernels to a library for the emulator."""
            code = DeviceCode.from_bytes(self.kind, text)
            compile_kernels(code, out, self.compiler, f"-DGROUP_CORES={threads}")

        return self.host.session(bundle, threads, libraries, compiled)

    def _compiler_version(self) -> str:
        """Return the compiler's version. Raises BuildError if it is not installed."""
        return self.compiler.version(*PURPOSE)
