"""WebGPU kernels as a TVM module whose functions wgpu executes.

TVM's host code takes this machine's memory for the GPU's. Each launch copies its arguments to the GPU and
copies back what it wrote. This shows whether kernels are right, not how fast they are. Launches are
arranged as in tvmjs, on a device with the limits of every WebGPU. Source: apache/tvm, web/src/webgpu.ts.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.runtime.bundle.device_code import DeviceCode, DeviceFunction
from kokoro_tvm.targets.runners.source.device import SourceDevice, size_of
from kokoro_tvm.targets.runners.wgpu_adapter import adapter, adapter_version

_POINTER, _FLOAT = 3, 2  # DLPack's
_GROUPS_LIMIT = 1 << 16  # an axis has fewer workgroups
_STORAGE_BUFFERS = 10  # what tvmjs asks for
_AXES = [f"{of}.{axis}" for of in ("blockIdx", "threadIdx") for axis in "xyz"]
_WRITES = "paramWriteAccess:"


@cache
def _open_device() -> Any:
    """Open the adapter with the features and limits that kernels need. Raises BuildError if there is none."""
    gpu = adapter()
    optional = {"shader-f16", "subgroup"} & set(gpu.features)
    limits = {"max-storage-buffers-per-shader-stage": _STORAGE_BUFFERS}
    limits |= {name: gpu.limits[name] for name in ("max-buffer-size", "max-storage-buffer-binding-size")}
    return gpu.request_device_sync(required_features=sorted(optional), required_limits=limits)


def load(code: DeviceCode) -> Any:
    """Compile kernels to a TVM module, which stays until the process ends.

    A kernel that fails raises RuntimeError when it is called.

    Raises:
        BuildError: wgpu or a driver is missing, or refuses a kernel.
    """
    import tvm_ffi

    prefix = f"webgpu_{next(_numbers)}_"
    library = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
    for name, function in code.functions.items():
        entry = _make_entry(_Kernel.of(function, code.code[name].decode()), library)
        _entries.append(entry)
        symbol = f"__tvm_ffi_{prefix}{name}".encode()
        if library.TVMFFIEnvModRegisterSystemLibSymbol(symbol, ctypes.cast(entry, ctypes.c_void_p)):
            raise BuildError(f"TVM does not take the kernel {name} of WebGPU")
    return tvm_ffi.system_lib(prefix)


class WgpuDevice(SourceDevice):
    """A GPU of Vulkan behind memory of this machine."""

    def load(self, kernels: bytes) -> Any:
        """Compile a library's kernels."""
        return load(DeviceCode.from_bytes(self.kind, kernels))


def split_grid(groups: int) -> tuple[int, int]:
    """Return the workgroups along x and z for a number along x: no axis has 65536."""
    x, z = groups, 1
    while x >= _GROUPS_LIMIT:
        x, z = (x + 1) // 2, z * 2
    return x, z


@dataclass(frozen=True)
class _Kernel:
    """A compiled shader and its signature.

    Attributes:
        function: Name, argument types and launch tags.
        pipeline: The compute pipeline.
        buffers: Numbers of the arguments that are pointers.
        values: Numbers of the other arguments.
        writes: Whether the kernel writes each buffer.
        axes: Axes of the extents that follow the arguments.
    """

    function: DeviceFunction
    pipeline: Any
    buffers: tuple[int, ...]
    values: tuple[int, ...]
    writes: tuple[bool, ...]
    axes: tuple[str, ...]

    @classmethod
    def of(cls, function: DeviceFunction, source: str) -> _Kernel:
        """Compile a WGSL kernel. Raises BuildError if it needs more than WebGPU has."""
        import wgpu

        tags = function.launch
        axes = tuple(tag for tag in tags if not tag.startswith(_WRITES))
        written: list[int] = next(
            (json.loads(tag.removeprefix(_WRITES)) for tag in tags if tag not in axes), []
        )
        pointers = [code == _POINTER for code, _, _ in function.arguments]
        buffers = tuple(i for i, pointer in enumerate(pointers) if pointer)
        if unknown := set(axes) - set(_AXES):
            raise BuildError(f"{function.name}: a launch with {', '.join(unknown)} is not WebGPU's")
        kinds = ["storage" if write else "read-only-storage" for write in written]
        visible = wgpu.ShaderStage.COMPUTE
        try:
            device = _open_device()
            layout = device.create_bind_group_layout(
                entries=[
                    {"binding": i, "visibility": visible, "buffer": {"type": kind}}
                    for i, kind in enumerate([*kinds, "uniform"])
                ]
            )
            pipeline = device.create_compute_pipeline(
                layout=device.create_pipeline_layout(bind_group_layouts=[layout]),
                compute={"module": device.create_shader_module(code=source), "entry_point": function.name},
            )
        except wgpu.GPUError as error:
            raise BuildError(f"{adapter_version()} refuses the kernel {function.name}: {error}") from error
        values = tuple(i for i, pointer in enumerate(pointers) if not pointer)
        return cls(function, pipeline, buffers, values, tuple(map(bool, written)), axes)

    def launch(self, arguments: Sequence[int | float]) -> None:
        """Copy the arrays to the GPU, run the kernel, wait, and copy back what it writes.

        Args:
            arguments: Addresses in the host's memory and numbers, then extents.

        Raises:
            ValueError: The grid's third extent is not 1.
        """
        import wgpu

        device = _open_device()
        extents = dict.fromkeys(_AXES, 1) | dict(
            zip(self.axes, map(int, arguments[len(self.function.arguments) :]), strict=True)
        )
        if extents["blockIdx.z"] != 1:
            raise ValueError("blockIdx.z is not a kernel's own on WebGPU")
        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
        memories = [_map_memory(int(arguments[i])) for i in self.buffers]
        buffers = [
            device.create_buffer_with_data(data=bytes(memory) + b"\0" * (-len(memory) % 4), usage=usage)
            for memory in memories  # the size of a buffer is a multiple of 4
        ]
        packed = b"".join(self._pack_argument(i, arguments[i]) for i in self.values)
        packed += struct.pack("<I", extents["blockIdx.x"])
        uniform = device.create_buffer_with_data(data=packed, usage=wgpu.BufferUsage.UNIFORM)
        group = device.create_bind_group(
            layout=self.pipeline.get_bind_group_layout(0),
            entries=[
                {"binding": i, "resource": {"buffer": buffer, "offset": 0, "size": buffer.size}}
                for i, buffer in enumerate([*buffers, uniform])
            ],
        )
        encoder = device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(self.pipeline)
        compute.set_bind_group(0, group)
        x, z = split_grid(extents["blockIdx.x"])
        compute.dispatch_workgroups(x, extents["blockIdx.y"], z)
        compute.end()
        device.queue.submit([encoder.finish()])
        for memory, buffer, write in zip(memories, buffers, self.writes, strict=True):
            if write:
                memory[:] = device.queue.read_buffer(buffer)[: len(memory)]
        for buffer in (*buffers, uniform):
            buffer.destroy()

    def _pack_argument(self, argument: int, value: int | float) -> bytes:
        """Return the 4 bytes of an argument for the uniform buffer. Raises ValueError for another size."""
        code, bits, _ = self.function.arguments[argument]
        if bits != 32:
            raise ValueError(f"argument {argument} has {bits} bits, WebGPU takes 32")
        return struct.pack("<f", value) if code == _FLOAT else struct.pack("<I", int(value) & 0xFFFFFFFF)


def _map_memory(address: int) -> memoryview:
    """Return the memory block of this machine at an address."""
    return memoryview((ctypes.c_char * size_of(address)).from_address(address)).cast("B")


class _Value(ctypes.Union):
    _fields_ = (("integer", ctypes.c_int64), ("number", ctypes.c_double), ("address", ctypes.c_uint64))


class _Any(ctypes.Structure):
    """TVMFFIAny."""

    _fields_ = (("type_index", ctypes.c_int32), ("size", ctypes.c_uint32), ("value", _Value))


_Entry = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Any), ctypes.c_int32, ctypes.POINTER(_Any)
)
_numbers = itertools.count()
_entries: list[Any] = []  # TVM keeps their addresses, so they live until the process ends


def _make_entry(kernel: _Kernel, library: ctypes.CDLL) -> Any:
    """Return the C function that TVM calls; an exception becomes an error of TVM."""
    floats = {i for i, (code, _, _) in enumerate(kernel.function.arguments) if code == _FLOAT}

    def call(handle: Any, arguments: Any, count: int, result: Any) -> int:
        """Launch the kernel; return 0, or -1 after an error."""
        try:
            values = [arguments[i].value for i in range(count)]
            kernel.launch([v.number if i in floats else v.integer for i, v in enumerate(values)])
        except Exception as error:  # nothing else would tell TVM
            message = f"{kernel.function.name} on WebGPU: {error}"
            library.TVMFFIErrorSetRaisedFromCStr(b"RuntimeError", message.encode())
            return -1
        result[0].type_index = 0
        return 0

    return _Entry(call)
