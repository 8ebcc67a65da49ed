"""Arrays as tensors of a GPU that this machine stands in for."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import tvm_ffi

from kokoro_tvm.runtime.session.device import DEVICE_TYPES
from kokoro_tvm.targets.runners.source.device import SIZES

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_DEVICE_TYPE = 8  # where it lies in a DLTensor, behind the address of the data


def on_device(array: np.ndarray, kind: str) -> Any:
    """The array's memory as a tensor of a GPU that `use_host_memory` was called for."""
    whole = np.ascontiguousarray(array)
    SIZES[whole.ctypes.data] = whole.nbytes
    return tvm_ffi.from_dlpack(_Labelled(whole, DEVICE_TYPES[kind]))


class _Labelled:
    """An array whose DLPack names another device."""

    def __init__(self, array: np.ndarray, device_type: int) -> None:
        self._array = array
        self._device_type = device_type

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device_type, 0

    def __dlpack__(self, **_: Any) -> Any:
        capsule = self._array.__dlpack__()
        address = _pointer(capsule, b"dltensor") + _DEVICE_TYPE
        ctypes.c_int32.from_address(address).value = self._device_type
        return capsule
