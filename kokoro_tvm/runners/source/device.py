"""Memory of the machine that builds, in the place of a GPU's."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.runners.source.program import load
from kokoro_tvm.runtime.bundle.device_code import DeviceCode
from kokoro_tvm.runtime.session.device import DEVICE_TYPES, Gpu

__all__ = ["SourceDevice", "on_device", "size_of", "stand_in"]

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_usable = ctypes.CDLL(None).malloc_usable_size
_usable.restype, _usable.argtypes = ctypes.c_size_t, [ctypes.c_void_p]
_sizes: dict[int, int] = {}
_DEVICE_TYPE = 8  # where it lies in a DLTensor, behind the address of the data


def stand_in(kind: str) -> None:
    """Lets TVM take this machine's memory for that of a GPU, in this process, until it ends."""
    import tvm_ffi

    memory = tvm_ffi.get_global_func("device_api.cpu")
    tvm_ffi.register_global_func(f"device_api.{kind}", memory, override=True)


def on_device(array: NDArray[Any], kind: str) -> Any:
    """The array's memory as a tensor of a GPU that `stand_in` was called for."""
    import tvm_ffi

    whole = np.ascontiguousarray(array)
    _sizes[whole.ctypes.data] = whole.nbytes
    return tvm_ffi.from_dlpack(_Labelled(whole, DEVICE_TYPES[kind]))


def size_of(address: int) -> int:
    """Bytes of the memory that starts there: of an array that `on_device` was given last, or of TVM's own."""
    return _sizes.get(address) or int(_usable(address))


class SourceDevice(Gpu):
    """A GPU that this machine stands in for."""

    runs_machine_code = False

    def _open(self) -> None:
        stand_in(self.kind)

    def load(self, kernels: bytes) -> Any:
        return load(DeviceCode.from_bytes(self.kind, kernels))


class _Labelled:
    """An array whose DLPack names another device."""

    def __init__(self, array: NDArray[Any], device_type: int) -> None:
        self._array = array
        self._device_type = device_type

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device_type, 0

    def __dlpack__(self, **_: Any) -> Any:
        capsule = self._array.__dlpack__()
        address = _pointer(capsule, b"dltensor") + _DEVICE_TYPE
        ctypes.c_int32.from_address(address).value = self._device_type
        return capsule
