"""Where a component's tensors lie: in this machine's memory, or in a GPU's.

A GPU is given each input in memory of its own, allocated once for the longest; what a component computes
stays there until somebody reads it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Hashable
from itertools import zip_longest
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime.bundle.tensors import aligned_empty
from kokoro_tvm.runtime.session.tvm_runtime import load_tvm_ffi, runtime_folders

__all__ = ["DEVICE_TYPES", "Cpu", "Device", "Gpu", "Output", "Resident"]

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

    def input(self, name: Hashable, array: Array, longest: int) -> Any:
        """An array as a tensor of the device, until the next array of that name.

        longest: of how many elements there may be arrays of that name.
        """
        ...

    def output(self, tensor: Any) -> Output:
        """A tensor of the device as an array, or as what one can be made of."""
        ...


class Resident:
    """A tensor that stays on its device. `np.asarray` copies it from there, once the device has computed it;
    shape, dtype and ndim are known without that."""

    def __init__(self, device: Gpu, tensor: Any, part: tuple[slice, ...] = ()) -> None:
        """part: what of the tensor counts."""
        self.device = device
        self.tensor = tensor
        self.part = part
        self.dtype = np.dtype(str(tensor.dtype))

    @property
    def shape(self) -> tuple[int, ...]:
        whole = tuple(map(int, self.tensor.shape))
        cut = (each.stop for each in self.part)
        return tuple(size if stop is None else stop for size, stop in zip_longest(whole, cut))

    @property
    def ndim(self) -> int:
        return len(self.tensor.shape)

    def valid(self, axis: int, size: int) -> Resident:
        """The first `size` elements of `axis`."""
        return Resident(self.device, self.tensor, (*(slice(None),) * axis, slice(size)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("a tensor of a GPU cannot be read without a copy")
        found = self.device.array(self.tensor)[self.part]
        return found if dtype is None else found.astype(dtype, copy=False)


Output: TypeAlias = Array | Resident


class Cpu:
    """This machine's memory; nothing is copied."""

    initialization: tuple[int, ...] = (_CPU, _FIRST, _POOLED)
    runs_machine_code = False

    def load(self, kernels: bytes) -> Any:
        raise BundleError("A library for a CPU has no kernels beside it. Build the bundle again.")

    def tensor(self, array: Array) -> Any:
        """Version 1.0 of DLPack takes read-only arrays too."""
        return load_tvm_ffi().from_dlpack(array.__dlpack__(max_version=(1, 0)))

    def input(self, name: Hashable, array: Array, longest: int) -> Any:
        return self.tensor(array)

    def output(self, tensor: Any) -> Output:
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
        self._inputs: dict[Hashable, Any] = {}  # name -> memory for the longest

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
        tensor = self.allocate(array.shape, array.dtype)
        self.fill(tensor, array)
        return tensor

    def input(self, name: Hashable, array: Array, longest: int) -> Any:
        if name not in self._inputs:
            self._inputs[name] = self.allocate((longest,), array.dtype)
        view = self._ffi.get_global_func("runtime.TVMTensorCreateView")
        shape, dtype = self._ffi.Shape(array.shape), self._ffi.dtype(str(array.dtype))
        tensor = view(self._inputs[name], shape, dtype, 0)
        self.fill(tensor, array)
        return tensor

    def output(self, tensor: Any) -> Output:
        return Resident(self, tensor)

    def allocate(self, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        """A tensor that holds nothing yet."""
        allocate = self._ffi.get_global_func("runtime.TVMTensorAllocWithScope")
        return allocate(self._ffi.Shape(shape), self._ffi.dtype(str(np.dtype(dtype))), self._device, None)

    def fill(self, tensor: Any, array: Array) -> None:
        """Copies an array into a tensor of its size."""
        whole = np.ascontiguousarray(array)
        copy = self._ffi.get_global_func("runtime.TVMTensorCopyFromBytes")
        copy(tensor, ctypes.c_void_p(whole.ctypes.data), whole.nbytes)

    def array(self, tensor: Any) -> Array:
        """A copy of the tensor in this machine's memory, once the GPU has computed it."""
        array = aligned_empty(tuple(tensor.shape), str(tensor.dtype))
        copy = self._ffi.get_global_func("runtime.TVMTensorCopyToBytes")
        copy(tensor, ctypes.c_void_p(array.ctypes.data), array.nbytes)
        return array
