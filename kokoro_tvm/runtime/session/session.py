"""A session: a bundle's loaded libraries, called component by component."""

from __future__ import annotations

import json
import mmap
import os
import re
import threading
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
from kokoro_tvm.runtime.session.device import Cpu, Device, DeviceTensor, Gpu, Output
from kokoro_tvm.runtime.session.pool import compute
from kokoro_tvm.runtime.session.routing import fit, length_axis, smallest_bucket, valid_part
from kokoro_tvm.runtime.session.tvm_runtime import load_library, load_tvm_ffi
from kokoro_tvm.runtime.stopping import Cancellation, current_cancellation

Array = NDArray[Any]
_LENGTH_INPUT = "length"
_NO_MEMORY = re.compile("bad_alloc|out of memory", re.IGNORECASE)  # messages of C++ and of GPUs
_SKIP_RUN = 1  # an instrument returns it to skip the call (TVM's VMInstrumentReturnKind)


class ComponentRunner(Protocol):
    """Runs the five components: a `Session`, or another engine."""

    def run(self, component: str, length: int, *inputs: Output) -> tuple[Output, ...]:
        """Run a component.

        Args:
            component: its name, or `decoder_seeded`, see `Bundle.entry`.
            length: in tokens or frames.
            inputs: without padding; arrays, or outputs of another component.

        Returns:
            The outputs, without padding.
        """
        ...


@dataclass(frozen=True)
class _Loaded:
    component: Component
    device: Device
    machines: dict[int, Any]  # bucket -> virtual machine
    parameters: tuple[Any, ...]  # tvm_ffi tensors over the mapped weights, one set for all buckets


class SessionBase(ABC):
    """Routing to buckets, padding of inputs and trimming of outputs, for any executor of components."""

    bundle: Bundle

    @abstractmethod
    def _execute(
        self, component: Component, bucket: int, length: int, inputs: list[Any]
    ) -> tuple[Output, ...]:
        """Call the code of a bucket with inputs in the order of the signature; raises BundleError.

        Inputs are aligned arrays, or values for which `_stays` is true.
        """

    def _stays(self, component: Component, value: Output) -> bool:
        """Return whether a value is on the component's device."""
        return False

    def run(self, component: str, length: int, *inputs: Output) -> tuple[Output, ...]:
        """Run a component in the smallest bucket that fits.

        Args:
            component: its name, or `decoder_seeded`.
            length: in tokens or frames.
            inputs: of the signature without `length`, of exactly that length; they are padded if necessary.

        Returns:
            The outputs, trimmed to the length. They may be views of the runtime's memory, or `DeviceTensor`
            on a GPU, from which they are copied only when they are converted to an array.

        Raises:
            TooLongError: `length` exceeds the largest bucket.
            BundleError: the code failed, or an output contradicts the signature.
        """
        spec = self.bundle.entry(component)
        bucket = smallest_bucket(spec.buckets, length, spec.axis)
        size = length if self.bundle.length == "exact" else bucket
        ports = [port for port in spec.inputs if port.name != _LENGTH_INPUT]
        arrays = [
            self._prepare(spec, port, array, length, size) for port, array in zip(ports, inputs, strict=True)
        ]
        outputs = self.run_whole(component, bucket, length, *arrays)
        return tuple(
            self._cut(spec, port, array, length, size)
            for port, array in zip(spec.outputs, outputs, strict=True)
        )

    def run_whole(self, component: str, bucket: int, length: int, *inputs: Output) -> tuple[Output, ...]:
        """Run a component in a given bucket, without padding and trimming.

        Args:
            component: its name, or `decoder_seeded`.
            bucket: of the code.
            length: in tokens or frames.
            inputs: of the signature without `length`, of the size that the code expects: `length` if lengths
                are exact, else the bucket.

        Raises:
            BundleError: the code failed.
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

    def _prepare(self, spec: Component, port: Port, value: Output, length: int, size: int) -> Output:
        length_of = length_axis(port.name, self.bundle.samples_per_frame)
        if length_of is None or size == length:
            return value
        axis, factor = length_of
        # Masked code reads nothing beyond the length, so any padding will do.
        stays = self.bundle.length == "masked" and self._stays(spec, value)
        if stays and isinstance(value, DeviceTensor) and value.tensor.shape[axis] == size * factor:
            return value
        return fit(np.asarray(value, port.dtype), axis, size * factor)

    def _cut(self, spec: Component, port: Port, array: Output, length: int, size: int) -> Output:
        length_of = length_axis(port.name, self.bundle.samples_per_frame)
        if length_of is None:
            return array
        axis, factor = length_of
        if array.ndim <= axis or array.shape[axis] != size * factor or array.dtype != port.dtype:
            raise BundleError(
                f"{spec.function} returned {port.name} as {array.dtype} {array.shape}; for {size} "
                f"{spec.axis} axis {axis} should have {size * factor} elements of {port.dtype}. "
                "Build the bundle again."
            )
        if isinstance(array, DeviceTensor):
            return array.valid(axis, length * factor)
        return valid_part(array, axis, length * factor)


class Session(SessionBase):
    """All libraries of a bundle with mapped weights; threads may share it, and their runs queue up."""

    def __init__(
        self,
        bundle: Bundle,
        threads: int,
        files: OpenFiles | None = None,
        device: Device | None = None,
        emulated: frozenset[str] = frozenset(),
    ) -> None:
        """Load all libraries, and map the weights.

        Args:
            bundle: its manifest.
            threads: that compute one component together.
            files: of the bundle, with verified weights; None: they are opened here and only their sizes are
                compared, for bundles that this process has built. Libraries are always verified.
            device: the GPU; None: the first one.
            emulated: CPU features that an emulator adds.

        Raises:
            BundleError: the bundle is for another platform or a missing GPU; a library cannot be loaded, has
                another digest, or was compiled for another component, bucket or length policy; weights do not
                fit the signature.
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
        threading.Thread(target=self._touch_weights, daemon=True, name="kokoro-tvm-weights").start()

    def _touch_weights(self) -> None:
        """Read a byte of every page of the weights on the CPU, while the first text is read.

        Else the first utterance would wait for the 6,000 faults, which take a sixth of its CPU time.
        """
        for loaded in self._loaded.values():
            for tensor in loaded.parameters if loaded.device is self._cpu else ():
                array = np.asarray(self._cpu.output(tensor))
                array.reshape(-1).view(np.uint8)[:: mmap.PAGESIZE].max(initial=0)

    def _stays(self, component: Component, value: Output) -> bool:
        return isinstance(value, DeviceTensor) and value.device is self._loaded[component.name].device

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
            result = compute(
                self.threads, self._call, component, size, machine, inputs, current_cancellation()
            )
        except (RuntimeError, ValueError, TypeError) as error:  # of the virtual machine
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
        """Yield component and table of kernels of every library that has one."""
        for component, loaded in self._loaded.items():
            function = f"{component}_kernels"
            for machine in loaded.machines.values():
                if machine.implements_function(function):
                    yield component, ManifestNode(json.loads(str(machine[function]())), function)

    def instrument(self, observer: Callable[[str], Callable[..., None]] | None) -> None:
        """Observe every call of compiled code, or stop observing (None).

        `observer(component)` returns a function that is called before and after each call with (function,
        name, before, result, *arguments).
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
        stopping: Cancellation | None,
    ) -> Any:
        """Call a function on the compute thread; the buffers of inputs exist once."""
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
        """Yield inputs of `size` tokens or frames as tensors on the component's device."""
        device = self._loaded[component.name].device
        for port, value in zip(component.inputs, inputs, strict=True):
            if isinstance(value, DeviceTensor):
                yield value.tensor
                continue
            is_long = length_axis(port.name, self.bundle.samples_per_frame) is not None
            longest = value.size // size * component.buckets[-1] if is_long else value.size
            yield device.input((component.name, port.name), value, longest)

    def _release_memory(self, component: Component, size: int) -> None:
        """Empty the allocator's pool before a call of another size.

        The pool reuses only blocks of exactly the same size, so others would stay allocated.
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
        """Return the device of a component."""
        if all(library.kernels is None for library in component.libraries) or self.bundle.gpu is None:
            return self._cpu
        if self._gpu is None:
            self._gpu = Gpu(self.bundle.gpu)
        return self._gpu

    def _machine(self, component: Component, library: Library, files: OpenFiles, device: Device) -> Any:
        """Load a virtual machine, after comparing the manifest in the library."""
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
        """Return a loader of the library's GPU kernels, or None."""
        if library.kernels is None:
            return None
        code = (device.runs_machine_code and library.machine_code) or library.kernels
        return lambda: device.load(files[code].content())


def find_parameter(component: Component, port: Port, tensors: dict[str, Array]) -> Array:
    """Return a weight in its shape, as a view of the flat, zero-padded tensor of the file."""
    path = component.weights.path
    if port.name not in tensors:
        raise BundleError(f"{path} lacks the tensor {port.name} of {component.function}. Build it again.")
    flat = tensors[port.name].reshape(-1)
    shape = tuple(int(size) for size in port.shape)
    size = int(np.prod(shape, dtype=np.int64))
    if flat.dtype != port.dtype or flat.size < size:
        raise BundleError(
            f"{path}: {port.name} holds {flat.size} elements of {flat.dtype}, but {component.function} takes "
            f"{port.dtype} {shape}. Build the bundle again."
        )
    array = flat[:size].reshape(shape)
    # Misaligned weights are copied: opening is slower, the result the same.
    return aligned(array, port.dtype)


def _skip(function: Any, name: str, before: bool, result: Any, *arguments: Any) -> int:
    """Instrument of a cancelled call: skips every kernel."""
    return _SKIP_RUN if before else 0


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
