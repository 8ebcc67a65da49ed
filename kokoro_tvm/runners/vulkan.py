"""The driver that executes kernels for WebGPU, by wgpu: any Vulkan, such as Mesa's for the CPU (lavapipe)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from tempfile import TemporaryDirectory
from typing import Any

from kokoro_tvm.errors import BuildError
from kokoro_tvm.toolchains.base import problem_of

__all__ = ["adapter", "check", "version"]


@cache
def adapter() -> Any:
    """The first of Vulkan's. Raises BuildError where wgpu or a driver is missing."""
    try:
        import wgpu
        from wgpu.backends.wgpu_native.extras import set_instance_extras
    except (ImportError, OSError, RuntimeError) as error:  # it has no library for some platforms
        raise BuildError(
            f"no wgpu to run WebGPU kernels with ({error}): pip install 'kokoro-tvm[webgpu]'"
        ) from error
    set_instance_extras(backends=["Vulkan"])
    with _runtime_folder():
        adapters = wgpu.gpu.enumerate_adapters_sync()
    if not adapters:
        raise BuildError(
            "no Vulkan driver to run WebGPU kernels with: install one (Debian: apt-get install "
            "mesa-vulkan-drivers, which needs no GPU)"
        )
    return adapters[0]


@contextmanager
def _runtime_folder() -> Iterator[None]:
    """A folder for what windows need, where a session has given none: EGL would complain on stderr, though
    nobody opens a window."""
    name = "XDG_RUNTIME_DIR"
    if name in os.environ:
        yield
        return
    with TemporaryDirectory(prefix="kokoro-tvm-") as folder:
        os.environ[name] = folder
        try:
            yield
        finally:
            del os.environ[name]


def version() -> str:
    """wgpu's and the driver's. Raises BuildError where one is missing."""
    info = adapter().info
    return f"wgpu {metadata.version('wgpu')}, {info['device']}, {info['description']}"


def check() -> str | None:
    """Why no kernel can be run here, with what to do about it; None where they can."""
    return problem_of(version)
