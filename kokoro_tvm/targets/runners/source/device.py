"""Memory of the build machine in place of a GPU's."""

from __future__ import annotations

import ctypes
from typing import Any

from kokoro_tvm.runtime.bundle.device_code import DeviceCode
from kokoro_tvm.runtime.session.device import Gpu
from kokoro_tvm.targets.runners.source.program import load

_usable = ctypes.CDLL(None).malloc_usable_size
_usable.restype, _usable.argtypes = ctypes.c_size_t, [ctypes.c_void_p]
SIZES: dict[int, int] = {}
"""Size in bytes of blocks that TVM did not allocate, by address."""


def use_host_memory(kind: str) -> None:
    """Register this machine's memory with TVM as that of a kind of GPU, until the process ends."""
    import tvm_ffi

    memory = tvm_ffi.get_global_func("device_api.cpu")
    tvm_ffi.register_global_func(f"device_api.{kind}", memory, override=True)


def size_of(address: int) -> int:
    """Return the size in bytes of the memory block at an address."""
    return SIZES.get(address) or int(_usable(address))


class SourceDevice(Gpu):
    """A GPU whose memory is this machine's."""

    runs_machine_code = False

    def _open(self) -> None:
        use_host_memory(self.kind)

    def load(self, kernels: bytes) -> Any:
        """Compile a library's kernels as C++."""
        return load(DeviceCode.from_bytes(self.kind, kernels))
