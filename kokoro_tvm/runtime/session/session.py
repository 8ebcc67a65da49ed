"""A bundle's compiled code: loads it and calls it component by component."""

from __future__ import annotations

import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.errors import BundleError, InputError, OutOfMemoryError
from kokoro_tvm.runtime.bundle.files import OpenFiles
from kokoro_tvm.runtime.bundle.inspection import check_library
from kokoro_tvm.runtime.bundle.manifest import Bundle, Component, Library, Port
from kokoro_tvm.runtime.bundle.node import ManifestNode
from kokoro_tvm.runtime.bundle.tensors import aligned, map_safetensors
from kokoro_tvm.runtime.session.cpu import check_cpu, check_platform
from kokoro_tvm.runtime.session.device import Cpu, Device, Gpu, Output, Resident
from kokoro_tvm.runtime.session.pool import compute
from kokoro_tvm.runtime.session.routing import fit, length_axis, smallest_bucket, valid_part
from kokoro_tvm.runtime.session.tvm_runtime import load_library, load_tvm_ffi
from kokoro_tvm.runtime.stopping import Stopping, current_stopping

__all__ = ["ComponentRunner", "Session", "SessionBase", "find_parameter"]

Array = NDArray[Any]
_LENGTH_INPUT = "length"
_NO_MEMORY = re.compile("bad_alloc|out of memory", re.IGNORECASE)  # of C++, and of GPUs
_SKIP_RUN = 1  # what an instrument returns to have the call left out (TVM's VMInstrumentReturnKind)


class ComponentRunner(Protocol):
    """Runs the five components: a Session, or a stand-in where there is no compiled code."""

    def run(self, component: str, length: int, *inputs: Output) -> tuple[Output, ...]:
        """Outputs of `component` for inputs of `length` tokens or frames, both without padding.

        `component` may be `decoder_seeded`, see `Bundle.entry`. What one component gave is passed to the next
        as it is; anybody else makes an array of it first.
        """
        ...


@dataclass(frozen=True)
class _Loaded:
    component: Component
    device: Device
    machines: dict[int, Any]  # bucket -> virtual machine
    parameters: tuple[Any, ...]  # tvm_ffi tensors over the mapped weights, one set for all buckets


class SessionBase(ABC):
    """What a bundle's components take and return, whoever executes their code: routing, padding, cutting."""

    bundle: Bundle

    @abstractmethod
    def _execute(
        self, component: Component, bucket: int, length: int, inputs: list[Any]
    ) -> tuple[Output, ...]:
        """What the code of a bucket returns for aligned arrays, and for what `_stays`, in the order the
        component's signature has them. Raises BundleError where it fails."""

    def _stays(self, component: Component, value: Output) -> bool:
        """Whether a value of the right size lies where a component computes."""
        return False

    def run(self, component: str, length: int, *inputs: Output) -> tuple[Output, ...]:
        """Outputs of `component` for `length` tokens or frames, from the smallest bucket that takes them.

        `inputs` are the signature's without `length`, for exactly `length`; they are padded where the length
        policy needs it. The outputs may lie in the runtime's memory and are valid as long as they are held;
        those that lie in a GPU's are copied from there when an array is made of them, and not at all where
        they are the next component's inputs, unless that has to be given other padding.

        Raises:
            TooLongError: `length` is above the largest bucket.
            BundleError: the compiled code failed, or an output has another shape than the signature promises.
        """
        spec = self.bundle.entry(component)
        bucket = smallest_bucket(spec.buckets, length, spec.axis)
        size = length if self.bundle.length == "exact" else bucket
        ports = [port for port in spec.inputs if port.name != _LENGTH_INPUT]
        arrays = [
            self._prepared(spec, port, array, length, size) for port, array in zip(ports, inputs, strict=True)
        ]
        outputs = self.run_whole(component, bucket, length, *arrays)
        return tuple(
            self._cut(spec, port, array, length, size)
            for port, array in zip(spec.outputs, outputs, strict=True)
        )

    def run_whole(self, component: str, bucket: int, length: int, *inputs: Output) -> tuple[Output, ...]:
        """Outputs of `component` from the code of one `bucket` as it gives them, nothing padded, nothing cut.

        `inputs` are the signature's without `length`, as long as the code takes them: `length` where lengths
        are exact, else the bucket, whose tail is the caller's. Raises BundleError when the compiled code
        failed.
        """
        spec = self.bundle.entry(component)
        ports = [port for port in spec.inputs if port.name != _LENGTH_INPUT]
        arrays = [
            value if self._stays(spec, value) else aligned(np.asarray(value), port.dtype)
            for port, value in zip(ports, inputs, strict=True)
        ]
        for port in spec.inputs:
            if port.name == _LENGTH_INPUT:
                arrays.append(aligned([length], port.dtype))
        return self._execute(spec, bucket, length, arrays)

    def _prepared(self, spec: Component, port: Port, value: Output, length: int, size: int) -> Output:
        where = length_axis(port.name, self.bundle.samples_per_frame)
        if where is None or size == length:
            return value
        axis, factor = where
        # Behind a length nothing is read, so that any padding will do.
        stays = self.bundle.length == "masked" and self._stays(spec, value)
        if stays and isinstance(value, Resident) and value.tensor.shape[axis] == size * factor:
            return value
        return fit(np.asarray(value, port.dtype), axis, size * factor)

    def _cut(self, spec: Component, port: Port, array: Output, length: int, size: int) -> Output:
        where = length_axis(port.name, self.bundle.samples_per_frame)
        if where is None:
            return array
        axis, factor = where
        if array.ndim <= axis or array.shape[axis] != size * factor or array.dtype != port.dtype:
            raise BundleError(
                f"{spec.function} gave {port.name} as {array.dtype} {array.shape}; for {size} {spec.axis} "
                f"axis {axis} should have {size * factor} elements of {port.dtype}. Build the bundle again."
            )
        if isinstance(array, Resident):
            return array.valid(axis, length * factor)
        return valid_part(array, axis, length * factor)


class Session(SessionBase):
    """Every library of a bundle with its weights mapped. Threads may share it; runs queue up."""

    def __init__(
        self,
        bundle: Bundle,
        threads: int,
        files: OpenFiles | None = None,
        device: Device | None = None,
        emulated: frozenset[str] = frozenset(),
    ) -> None:
        """Load all libraries; `threads` compute together.

        `device` is the GPU of components that compute on one; the first of this machine where none is given.
        emulated: features that this process has without the CPU.

        A library is loaded only if its bytes are those the manifest names. Weights are mapped from `files`,
        whose digests the caller has compared; without them they are opened here and only their size is
        compared, which is meant for bundles that this process has built.

        Raises:
            BundleError: the bundle is for another platform, or for a GPU that is not there; a library cannot
                be loaded, is not the one the manifest names, or was compiled for another component, bucket or
                length policy; weights do not fit the signature.
        """
        self.bundle = bundle
        self.threads = threads
        self._reserved: dict[str, int] = {}
        self._process = os.getpid()
        check_platform(bundle)
        check_cpu(bundle, emulated=emulated)
        with ExitStack() as stack:
            if files is None:
                files = stack.enter_context(OpenFiles(bundle.component_files()))
            self._ffi = load_tvm_ffi(files[bundle.runtime] if bundle.runtime else None)
            self._cpu = Cpu()
            self._gpu = device
            self._loaded = {c.name: self._load(c, files) for c in bundle.components.values()}

    def _stays(self, component: Component, value: Output) -> bool:
        return isinstance(value, Resident) and value.device is self._loaded[component.name].device

    def _execute(
        self, component: Component, bucket: int, length: int, inputs: list[Any]
    ) -> tuple[Output, ...]:
        loaded = self._loaded[component.name]
        if loaded.device is not self._cpu and os.getpid() != self._process:
            raise InputError(
                f"This process was forked from the one that opened {self.bundle.root}, and cannot use its "
                "GPU. Open the bundle in a process that is started anew (multiprocessing: 'spawn')."
            )
        machine = loaded.machines[bucket]
        size = length if self.bundle.length == "exact" else bucket
        try:
            result = compute(self.threads, self._call, component, size, machine, inputs, current_stopping())
        except (RuntimeError, ValueError, TypeError) as error:  # what the virtual machine raises
            if _NO_MEMORY.search(str(error)):
                raise OutOfMemoryError.of(
                    f"{component.function} for {length} {component.axis}", _first_line(error)
                ) from error
            raise BundleError(
                f"{component.function} of bucket {bucket} failed for {length} {component.axis} "
                f"({_first_line(error)}). Build the bundle again, and report this if it stays."
            ) from error
        outputs = (result,) if isinstance(result, self._ffi.Tensor) else tuple(result)
        return tuple(map(loaded.device.output, outputs))

    def kernel_tables(self) -> Iterator[tuple[str, ManifestNode]]:
        """(component, operation and arithmetic of its kernels) of every library that lists them."""
        for component, loaded in self._loaded.items():
            function = f"{component}_kernels"
            for machine in loaded.machines.values():
                if machine.implements_function(function):
                    yield component, ManifestNode(json.loads(str(machine[function]())), function)

    def instrument(self, observer: Callable[[str], Callable[..., None]] | None) -> None:
        """Observe every call that compiled code makes; None ends it.

        `observer(component)` returns a function that is called before and after each call with (function,
        name, before, result, *arguments); `before` is true before the call.
        """
        for name, loaded in self._loaded.items():
            for machine in loaded.machines.values():
                machine["set_instrument"](observer and observer(name))

    def _call(
        self,
        component: Component,
        size: int,
        machine: Any,
        inputs: list[Any],
        stopping: Stopping | None,
    ) -> Any:
        """On the one thread that computes, for the memory of inputs is there once."""
        call = machine[component.function]
        self._release_memory(component, size)
        tensors = (*self._tensors(component, size, inputs), *self._loaded[component.name].parameters)
        if stopping is None:
            return call(*tensors)
        instrument = machine["set_instrument"]
        try:
            with stopping.ended_by(lambda: instrument(_skip)):
                return call(*tensors)
        finally:
            if stopping.stopped:
                instrument(None)

    def _tensors(self, component: Component, size: int, inputs: list[Any]) -> Iterator[Any]:
        """Inputs of `size` tokens or frames where the component computes."""
        device = self._loaded[component.name].device
        for port, value in zip(component.inputs, inputs, strict=True):
            if isinstance(value, Resident):
                yield value.tensor
                continue
            is_long = length_axis(port.name, self.bundle.samples_per_frame) is not None
            longest = value.size // size * component.buckets[-1] if is_long else value.size
            yield device.input((component.name, port.name), value, longest)

    def _release_memory(self, component: Component, size: int) -> None:
        """Empty the allocator's pool when a call takes other blocks than the last one did.

        The pool hands back blocks of exactly the same size only, so those of other sizes would stay.
        """
        reserved = -(-size // component.storage_step)
        if self._reserved.get(component.name, reserved) != reserved:
            self._ffi.get_global_func("vm.builtin.memory_manager.clear")()
        self._reserved[component.name] = reserved

    def _load(self, component: Component, files: OpenFiles) -> _Loaded:
        tensors = map_safetensors(component.weights.path, files[component.weights])
        device = self._device(component)
        parameters = tuple(
            device.tensor(find_parameter(component, port, tensors)) for port in component.parameters
        )
        machines = {
            library.bucket: self._machine(component, library, files, device)
            for library in component.libraries
        }
        return _Loaded(component, device, machines, parameters)

    def _device(self, component: Component) -> Device:
        """Where a component computes."""
        if all(library.kernels is None for library in component.libraries) or self.bundle.gpu is None:
            return self._cpu
        if self._gpu is None:
            self._gpu = Gpu(self.bundle.gpu)
        return self._gpu

    def _machine(self, component: Component, library: Library, files: OpenFiles, device: Device) -> Any:
        """A virtual machine of a library, whose manifest is compared before any of its code runs."""
        file = files[library.file]
        check_library(self.bundle, component, library, file)
        try:
            machine = load_library(file, self._kernels(library, files, device))["vm_load_executable"]()
            machine["vm_initialization"](*device.initialization)
            machine[component.function]
            if component.seeded is not None:
                machine[component.seeded.function]
        except (RuntimeError, AttributeError, ValueError, OSError) as error:
            raise BundleError(
                f"{library.file.path} cannot be loaded as a compiled {component.name} "
                f"({_first_line(error)}). Build the bundle again on this kind of machine."
            ) from error
        return machine

    def _kernels(self, library: Library, files: OpenFiles, device: Device) -> Callable[[], Any] | None:
        """What loads the kernels that a library launches, as the device takes them."""
        if library.kernels is None:
            return None
        code = (device.runs_machine_code and library.machine_code) or library.kernels
        return lambda: device.load(files[code].content())


def find_parameter(component: Component, port: Port, tensors: dict[str, Array]) -> Array:
    """One weight in its shape, from the flat, zero-padded tensor of the file. Nothing is copied."""
    path = component.weights.path
    if port.name not in tensors:
        raise BundleError(
            f"{path} lacks the tensor {port.name} that {component.function} takes. Build it again."
        )
    flat = tensors[port.name].reshape(-1)
    shape = tuple(int(size) for size in port.shape)
    size = int(np.prod(shape, dtype=np.int64))
    if flat.dtype != port.dtype or flat.size < size:
        raise BundleError(
            f"{path}: {port.name} holds {flat.size} elements of {flat.dtype}, but {component.function} takes "
            f"{port.dtype} {shape}. Build the bundle again."
        )
    array = flat[:size].reshape(shape)
    # Misaligned weights are copied rather than refused: slower to open, equally right.
    return aligned(array, port.dtype)


def _skip(function: Any, name: str, before: bool, result: Any, *arguments: Any) -> int:
    """Observes a machine whose results nobody wants any more: no call of a kernel is made."""
    return _SKIP_RUN if before else 0


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
