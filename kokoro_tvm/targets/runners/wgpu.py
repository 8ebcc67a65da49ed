"""Runs bundles for WebGPU on the machine that builds: the host's code as it is, the kernels by wgpu on any
Vulkan, such as Mesa's for the CPU (lavapipe)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kokoro_tvm.targets.runners import Runner
from kokoro_tvm.targets.runners.wgpu_adapter import adapter_version

if TYPE_CHECKING:
    from kokoro_tvm.runtime.bundle.manifest import Bundle
    from kokoro_tvm.runtime.session.session import Session

__all__ = ["WGPU"]


class Wgpu(Runner):
    """wgpu, which executes the kernels."""

    way = "with its kernels on Vulkan"
    packages = ("mesa-vulkan-drivers",)

    def version(self) -> str:
        return adapter_version()

    def session(self, bundle: Bundle, threads: int, libraries: Sequence[Path] = ()) -> Session:
        from kokoro_tvm.runtime.session.session import Session
        from kokoro_tvm.targets.runners.wgpu_kernels import WgpuDevice

        return Session(bundle, threads, device=WgpuDevice("webgpu"))


WGPU = Wgpu()
