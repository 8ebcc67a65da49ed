"""Runner of WebGPU bundles: host code in this process, kernels by wgpu on any Vulkan driver."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kokoro_tvm.targets.runners import Runner
from kokoro_tvm.targets.runners.wgpu_adapter import adapter_version

if TYPE_CHECKING:
    from kokoro_tvm.runtime.bundle.manifest import Bundle
    from kokoro_tvm.runtime.session.session import Session


class Wgpu(Runner):
    """wgpu on a Vulkan driver, such as Mesa's for the CPU (lavapipe)."""

    way = "with its kernels on Vulkan"
    packages = ("mesa-vulkan-drivers",)

    def version(self) -> str:
        """Return the versions of wgpu and of the driver."""
        return adapter_version()

    def session(self, bundle: Bundle, threads: int, libraries: Sequence[Path] = ()) -> Session:
        """Load the code in this process, with wgpu as the GPU."""
        from kokoro_tvm.runtime.session.session import Session
        from kokoro_tvm.targets.runners.wgpu_kernels import WgpuDevice

        return Session(bundle, threads, device=WgpuDevice("webgpu"))


WGPU = Wgpu()
