"""The part of a compiled module that a GPU executes."""

from __future__ import annotations

import struct
from typing import Any

from tvm.runtime import _ffi_api as runtime_api

from kokoro_tvm.errors import BuildError
from kokoro_tvm.runtime.device_code import DeviceCode

__all__ = ["device_code"]

_OWN = b"_lib"  # how TVM marks the module itself among those that it packs


def device_code(module: Any) -> DeviceCode:
    """The kernels that a host's module imports, as TVM would pack them with it.

    Raises BuildError where it does not import those of one kind of GPU.
    """
    if len(module.imports) != 1:
        raise BuildError(f"{len(module.imports)} modules for GPUs were generated, not one")
    packed = runtime_api.ModulePackImportsToTensor(module).numpy().tobytes()
    at = packed.find(_OWN)
    kind, at = _block(packed, at + len(_OWN))
    content, _ = _block(packed, at)
    return DeviceCode.from_bytes(kind.decode(), content)


def _block(data: bytes, at: int) -> tuple[bytes, int]:
    """A block of bytes that follows its size, and where it ends."""
    (size,) = struct.unpack_from("<Q", data, at)
    return data[at + 8 : at + 8 + size], at + 8 + size
