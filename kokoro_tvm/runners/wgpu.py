"""Runs bundles for WebGPU on the machine that builds: the host's code as it is, the kernels by Vulkan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kokoro_tvm.runners import vulkan
from kokoro_tvm.runners.base import Runner

if TYPE_CHECKING:
    from pathlib import Path

    from kokoro_tvm.runtime.bundle.manifest import Bundle
    from kokoro_tvm.runtime.session.session import Session

__all__ = ["WgpuRunner"]


class WgpuRunner(Runner):
    """Whose kernels wgpu executes."""

    @property
    def way(self) -> str:
        return "with its kernels on Vulkan"

    @property
    def packages(self) -> tuple[str, ...]:
        return ("mesa-vulkan-drivers",)

    def version(self) -> str:
        return vulkan.version()

    def check(self) -> str | None:
        return vulkan.check()

    def session(self, bundle: Bundle, threads: int, libraries: Sequence[Path] = ()) -> Session:
        from kokoro_tvm.runners.wgpu_kernels import WgpuDevice
        from kokoro_tvm.runtime.session.session import Session

        return Session(bundle, threads, device=WgpuDevice("webgpu"))
