"""Devices: the CPU, and GPUs.

A GPU has one buffer per input, allocated once for the maximum length. Outputs stay in its memory until they
are read.
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

Array = NDArray[Any]
_CPU, _FIRST, _POOLED = 1, 0, 2  # arguments of vm_initialization: device type, device id, allocator
DEVICE_TYPES = {"cuda": 2, "metal": 8, "webgpu": 15}
"""DLPack's device types."""
_EXISTS = 0  # attribute of runtime.GetDeviceAttr


class Device(Protocol):
    """Memory, and a loader of the kernels that use it."""

    initialization: tuple[int, ...]
    """Arguments of vm_initialization: devices and allocators."""

    runs_machine_code: bool
    """Whether it loads kernels as machine code if a library has it."""

    def load(self, kernels: bytes) -> Any:
        """Load a library's kernels as a TVM module."""
        ...

    def tensor(self, array: Array) -> Any:
        """Return an array as a tensor on the device."""
        ...

    def input(self, name: Hashable, array: Array, longest: int) -> Any:
        """Return an array as a tensor on the device, valid until the next array of that name.

        `longest` is the maximum number of elements of arrays of that name.
        """
        ...

    def output(self, tensor: Any) -> Output:
        """Return a tensor on the device as an array, or as a `DeviceTensor`."""
        ...


class DeviceTensor:
    """A tensor in a GPU's memory; `np.asarray` waits for it and copies it."""

    def __init__(self, device: Gpu, tensor: Any, part: tuple[slice, ...] = ()) -> None:
        """Wrap a tensor; `part` selects its valid elements."""
        self.device = device
        self.tensor = tensor
        self.part = part
        self.dtype = np.dtype(str(tensor.dtype))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the valid part."""
        whole = tuple(map(int, self.tensor.shape))
        stops = (axis.stop for axis in self.part)
        return tuple(size if stop is None else stop for size, stop in zip_longest(whole, stops))

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.tensor.shape)

    def valid(self, axis: int, size: int) -> DeviceTensor:
        """Return the first `size` elements of `axis`."""
        return DeviceTensor(self.device, self.tensor, (*(slice(None),) * axis, slice(size)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("a tensor of a GPU cannot be read without a copy")
        array = self.device.array(self.tensor)[self.part]
        return array if dtype is None else array.astype(dtype, copy=False)


Output: TypeAlias = Array | DeviceTensor


class Cpu:
    """The CPU; nothing is copied."""

    initialization: tuple[int, ...] = (_CPU, _FIRST, _POOLED)
    runs_machine_code = False

    def load(self, kernels: bytes) -> Any:
        """Raise BundleError: the CPU has no kernels beside a library."""
        raise BundleError("A library for a CPU has no kernels beside it. Build the bundle again.")

    def tensor(self, array: Array) -> Any:
        """Return a tensor over an array's memory."""
        # Version 1.0 of DLPack supports read-only arrays.
        return load_tvm_ffi().from_dlpack(array.__dlpack__(max_version=(1, 0)))

    def input(self, name: Hashable, array: Array, longest: int) -> Any:
        """Return a tensor over an array's memory."""
        return self.tensor(array)

    def output(self, tensor: Any) -> Output:
        """Return an array over a tensor's memory."""
        array: Array = np.from_dlpack(tensor)
        return array


class Gpu:
    """The first GPU of a kind: "cuda", "metal"."""

    runs_machine_code = True

    def __init__(self, kind: str) -> None:
        """Open the GPU; raises BundleError if the runtime, the driver or a GPU is missing."""
        self.kind = kind
        self.initialization: tuple[int, ...] = (DEVICE_TYPES[kind], _FIRST, _POOLED, _CPU, _FIRST, _POOLED)
        self._ffi = load_tvm_ffi()
        self._open()
        self._device = self._ffi.device(kind, _FIRST)
        self._inputs: dict[Hashable, Any] = {}  # name -> buffer for the maximum length

    def _open(self) -> None:
        """Load the TVM runtime of this kind."""
        libraries = [
            path for folder in runtime_folders() for path in folder.glob(f"libtvm_runtime_{self.kind}.*")
        ]
        if not libraries:
            raise BundleError(
                f"This bundle computes on a GPU, and the TVM runtime for {self.kind} is not installed. "
                "Run `pip install apache-tvm`, or use a bundle of the recipe `cpu`."
            )
        try:
            ctypes.CDLL(str(libraries[0]), ctypes.RTLD_GLOBAL)
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
        """Load a library's kernels as a TVM module."""
        return self._ffi.get_global_func(f"ffi.Module.load_from_bytes.{self.kind}")(kernels)

    def tensor(self, array: Array) -> Any:
        """Copy an array to the GPU."""
        tensor = self.allocate(array.shape, array.dtype)
        self.fill(tensor, array)
        return tensor

    def input(self, name: Hashable, array: Array, longest: int) -> Any:
        """Copy an array to the buffer of a name."""
        if name not in self._inputs:
            self._inputs[name] = self.allocate((longest,), array.dtype)
        view = self._ffi.get_global_func("runtime.TVMTensorCreateView")
        shape, dtype = self._ffi.Shape(array.shape), self._ffi.dtype(str(array.dtype))
        tensor = view(self._inputs[name], shape, dtype, 0)
        self.fill(tensor, array)
        return tensor

    def output(self, tensor: Any) -> Output:
        """Wrap a tensor; nothing is copied."""
        return DeviceTensor(self, tensor)

    def allocate(self, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        """Return an uninitialised tensor."""
        allocate = self._ffi.get_global_func("runtime.TVMTensorAllocWithScope")
        return allocate(self._ffi.Shape(shape), self._ffi.dtype(str(np.dtype(dtype))), self._device, None)

    def fill(self, tensor: Any, array: Array) -> None:
        """Copy an array into a tensor of its size."""
        whole = np.ascontiguousarray(array)
        copy = self._ffi.get_global_func("runtime.TVMTensorCopyFromBytes")
        copy(tensor, ctypes.c_void_p(whole.ctypes.data), whole.nbytes)

    def array(self, tensor: Any) -> Array:
        """Wait for a tensor and copy it from the GPU."""
        array = aligned_empty(tuple(tensor.shape), str(tensor.dtype))
        copy = self._ffi.get_global_func("runtime.TVMTensorCopyToBytes")
        copy(tensor, ctypes.c_void_p(array.ctypes.data), array.nbytes)
        return array
