"""Runs a bundle for a GPU whose host is emulated: the kernels from source, compiled for the same emulator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_tvm.runners.base import Runner
from kokoro_tvm.runners.qemu import Qemu
from kokoro_tvm.runners.source.compiler import PURPOSE, headers_digest
from kokoro_tvm.toolchains.base import problem_of
from kokoro_tvm.toolchains.cc import CCompiler, cxx_compiler

if TYPE_CHECKING:
    from kokoro_tvm.runners.process import ProcessSession
    from kokoro_tvm.runtime.bundle.manifest import Bundle

__all__ = ["EmulatedSource"]


class EmulatedSource(Runner):
    """The kernels of one kind of GPU, compiled as C++ for what runs the host's code."""

    needs_runtime = True

    def __init__(self, kind: str, host: Qemu) -> None:
        self.kind = kind
        self.host = host

    @property
    def way(self) -> str:
        return f"{self.host.way}, with its kernels for {self.kind} compiled as C++"

    @property
    def packages(self) -> tuple[str, ...]:
        return (*self.host.packages, *self.compiler.packages)

    @property
    def compiler(self) -> CCompiler:
        """Of the kernels."""
        return cxx_compiler(self.host.architecture)

    def version(self) -> str:
        return f"{self.host.version()}, {self.kind} as C++, {self._compiler_version()}"

    def facts(self) -> dict[str, Any]:
        kernels = {"compiler": self._compiler_version(), "headers": headers_digest()}
        return {"kind": self.kind, "host": self.host.facts(), "kernels": kernels}

    def check(self) -> str | None:
        return problem_of(self.facts)

    def session(self, bundle: Bundle, threads: int, libraries: Sequence[Path] = ()) -> ProcessSession:
        from kokoro_tvm.runners.source.program import compile_kernels
        from kokoro_tvm.runtime.bundle.device_code import DeviceCode

        def compiled(text: bytes, out: Path) -> None:
            code = DeviceCode.from_bytes(self.kind, text)
            compile_kernels(code, out, self.compiler, f"-DGROUP_CORES={threads}")

        return self.host.session(bundle, threads, libraries, compiled)

    def _compiler_version(self) -> str:
        return self.compiler.version(*PURPOSE)
