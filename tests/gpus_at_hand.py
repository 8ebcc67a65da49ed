"""What executes kernels for GPUs on this machine, by name and version, and why the rest does not: what
`pytest -m gpu` shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

__all__ = ["found", "wanted"]


def wanted(expression: str) -> bool:
    """Whether `-m` asks for the tests of GPUs."""
    return re.search(r"(?<!not )\bgpu\b", expression) is not None


def found() -> dict[str, str]:
    """By what it is: its name and version, or "not run: " and the reason."""
    from kokoro_tvm.native.toolchains import nvrtc
    from kokoro_tvm.native.toolchains.gnu import GNU
    from kokoro_tvm.targets.runners.wgpu import WGPU

    return {
        "CUDA's GPU": _described(lambda: _gpu("cuda")),
        "Metal's GPU": _described(lambda: _gpu("metal")),
        "WebGPU": _described(WGPU.version),
        "the source runner": _described(lambda: GNU.version()),
        "machine code for CUDA": _described(nvrtc.version),
    }


def _described(version: Callable[[], str]) -> str:
    from kokoro_tvm.common.errors import KokoroTvmError

    try:
        return version()
    except KokoroTvmError as error:
        return f"not run: {error}"


def _gpu(kind: str) -> str:
    import tvm

    from kokoro_tvm.runtime.session.device import Gpu

    Gpu(kind)  # raises, with the reason, where there is none
    device: Any = tvm.runtime.device(kind, 0)
    driver = f", driver {device.driver_version}" if kind == "cuda" else ""
    return f"{device.device_name}{driver}"
