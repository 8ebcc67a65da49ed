"""Where a component's tensors lie: in this machine's memory, or in a GPU's."""

from __future__ import annotations

import ctypes
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.errors import BundleError
from kokoro_tvm.runtime.tensors import aligned_empty
from kokoro_tvm.runtime.tvm_runtime import load_tvm_ffi, runtime_folders

__all__ = ["DEVICE_TYPES", "Cpu", "Device", "Gpu"]

Array = NDArray[Any]
_CPU, _FIRST, _POOLED = 1, 0, 2  # what vm_initialization takes: device type, device id, allocator
DEVICE_TYPES = {"cuda": 2, "metal": 8, "webgpu": 15}
"""DLPack's numbers of the kinds of GPU."""
_EXISTS = 0  # of runtime.GetDeviceAttr


class Device(Protocol):
    """Memory, and what loads the kernels that work in it."""

    initialization: tuple[int, ...]
    """What a virtual machine is initialised with: its devices and their allocators."""

    runs_machine_code: bool
    """Whether it takes a library's kernels as machine code, where they are that."""

    def load(self, kernels: bytes) -> Any:
        """The kernels of a library as a TVM module."""
        ...

    def tensor(self, array: Array) -> Any:
        """An array as a tensor of the device."""
        ...

    def array(self, tensor: Any) -> Array:
        """A tensor of the device as an array."""
        ...


class Cpu:
    """This machine's memory; nothing is copied."""

    initialization: tuple[int, ...] = (_CPU, _FIRST, _POOLED)
    runs_machine_code = False

    def load(self, kernels: bytes) -> Any:
        raise BundleError("A library for a CPU has no kernels beside it. Build the bundle again.")

    def tensor(self, array: Array) -> Any:
        """Version 1.0 of DLPack takes read-only arrays too."""
        return load_tvm_ffi().from_dlpack(array.__dlpack__(max_version=(1, 0)))

    def array(self, tensor: Any) -> Array:
        found: Array = np.from_dlpack(tensor)
        return found


class Gpu:
    """The first GPU of a kind: "cuda", "metal"."""

    runs_machine_code = True

    def __init__(self, kind: str) -> None:
        """Raises BundleError where the kind's runtime, its driver or a GPU is missing."""
        self.kind = kind
        self.initialization: tuple[int, ...] = (DEVICE_TYPES[kind], _FIRST, _POOLED, _CPU, _FIRST, _POOLED)
        self._ffi = load_tvm_ffi()
        self._open()
        self._device = self._ffi.device(kind, _FIRST)

    def _open(self) -> None:
        """Loads what of the TVM runtime is for this kind."""
        found = [
            path for folder in runtime_folders() for path in folder.glob(f"libtvm_runtime_{self.kind}.*")
        ]
        if not found:
            raise BundleError(
                f"This bundle computes on a GPU, and the TVM runtime for {self.kind} is not installed. "
                "Run `pip install apache-tvm`, or use a bundle of the recipe `cpu`."
            )
        try:
            ctypes.CDLL(str(found[0]), ctypes.RTLD_GLOBAL)
        except OSError as error:
            raise BundleError(
                f"This bundle computes on a GPU, but there is no driver for {self.kind} ({error}). "
                "Install it, or use a bundle of the recipe `cpu`."
            ) from error
        exists = self._ffi.get_global_func("runtime.GetDeviceAttr")(DEVICE_TYPES[self.kind], _FIRST, _EXISTS)
        if not exists:
            raise BundleError(
                f"This bundle computes on a GPU, but the driver for {self.kind} finds none here. "
                "Use a bundle of the recipe `cpu`."
            )

    def load(self, kernels: bytes) -> Any:
        return self._ffi.get_global_func(f"ffi.Module.load_from_bytes.{self.kind}")(kernels)

    def tensor(self, array: Array) -> Any:
        """A copy of the array in the GPU's memory."""
        allocate = self._ffi.get_global_func("runtime.TVMTensorAllocWithScope")
        tensor = allocate(self._ffi.Shape(array.shape), self._ffi.dtype(str(array.dtype)), self._device, None)
        whole = np.ascontiguousarray(array)
        copy = self._ffi.get_global_func("runtime.TVMTensorCopyFromBytes")
        copy(tensor, ctypes.c_void_p(whole.ctypes.data), whole.nbytes)
        return tensor

    def array(self, tensor: Any) -> Array:
        """A copy of the tensor in this machine's memory, once the GPU has computed it."""
        array = aligned_empty(tuple(tensor.shape), str(tensor.dtype))
        copy = self._ffi.get_global_func("runtime.TVMTensorCopyToBytes")
        copy(tensor, ctypes.c_void_p(array.ctypes.data), array.nbytes)
        return array
