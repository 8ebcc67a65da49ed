"""Runs a bundle for a GPU on the machine that builds: the host's code as it is, the kernels from source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_tvm.runners.base import Runner
from kokoro_tvm.runners.source.compiler import headers_digest
from kokoro_tvm.toolchains.base import problem_of
from kokoro_tvm.toolchains.gnu import GNU

if TYPE_CHECKING:
    from kokoro_tvm.runtime.bundle.manifest import Bundle
    from kokoro_tvm.runtime.session.session import Session

__all__ = ["SourceRunner"]


class SourceRunner(Runner):
    """The kernels of one kind of GPU, compiled as C++."""

    @property
    def way(self) -> str:
        return f"with its kernels for {self.kind} compiled as C++"

    @property
    def packages(self) -> tuple[str, ...]:
        return GNU.packages

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def version(self) -> str:
        return f"{self.kind} as C++, {GNU.version()}"

    def facts(self) -> dict[str, Any]:
        return {"compiler": self.version(), "headers": headers_digest()}

    def check(self) -> str | None:
        return problem_of(self.version)

    def session(self, bundle: Bundle, threads: int, libraries: Sequence[Path] = ()) -> Session:
        from kokoro_tvm.runners.source.device import SourceDevice
        from kokoro_tvm.runtime.session.session import Session

        return Session(bundle, threads, device=SourceDevice(self.kind))
