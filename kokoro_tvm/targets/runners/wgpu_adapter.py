"""The Vulkan adapter that wgpu executes WebGPU kernels with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from tempfile import TemporaryDirectory
from typing import Any

from kokoro_tvm.common.errors import BuildError


def adapter_version() -> str:
    """Return the versions of wgpu and of the driver. Raises BuildError if one is missing."""
    info = adapter().info
    return f"wgpu {metadata.version('wgpu')}, {info['device']}, {info['description']}"


def adapter() -> Any:
    """Return the first Vulkan adapter. Raises BuildError if wgpu or a driver is missing."""
    adapters = _list_adapters()
    if not adapters:
        raise BuildError(
            "no Vulkan driver to run WebGPU kernels with: install one (Debian: apt-get install "
            "mesa-vulkan-drivers, which needs no GPU)"
        )
    return adapters[0]


@cache  # an empty list too: wgpu refuses a second `set_instance_extras`
def _list_adapters() -> Any:
    """List the Vulkan adapters. Raises BuildError if wgpu is not installed."""
    try:
        import wgpu
        from wgpu.backends.wgpu_native.extras import set_instance_extras
    except (ImportError, OSError, RuntimeError) as error:  # it has no library for some platforms
        raise BuildError(
            f"no wgpu to run WebGPU kernels with ({error}): pip install 'kokoro-tvm[webgpu]'"
        ) from error
    set_instance_extras(backends=["Vulkan"])
    with _runtime_folder():
        return wgpu.gpu.enumerate_adapters_sync()


@contextmanager
def _runtime_folder() -> Iterator[None]:
    """Set XDG_RUNTIME_DIR to a temporary folder if it is not set."""
    # EGL wants the folder for windows and complains on stderr if a session has set none.
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
