"""Protocol and sessions of runners that execute code in another process."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime.bundle.files import OpenFiles
from kokoro_tvm.runtime.bundle.inspection import check_library
from kokoro_tvm.runtime.bundle.manifest import Bundle, Component
from kokoro_tvm.runtime.bundle.tensors import map_safetensors
from kokoro_tvm.runtime.session.cpu import refuse_missing
from kokoro_tvm.runtime.session.session import SessionBase, find_parameter

Array = NDArray[Any]
Place = Literal["aligned", "end", "start"]
CPU = "cpu"
_CODES = {"i": 0, "u": 1, "f": 2}  # of DLPack's types, by numpy's kinds
_KINDS = {code: kind for kind, code in _CODES.items()}


class RunnerProcess:
    """A server process that executes code, one request at a time."""

    def __init__(
        self,
        command: Sequence[str],
        name: str,
        environment: Mapping[str, str] | None = None,
        afterwards: Callable[[], None] = lambda: None,
    ) -> None:
        """Start the process.

        Args:
            command: The server's command.
            name: Name of the executor, for errors.
            environment: Variables to add.
            afterwards: Called once the process has ended.
        """
        self.name = name
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | (environment or {})
        )
        self._libraries, self._arrays = itertools.count(), itertools.count()
        self.close = weakref.finalize(self, _stop, self._process, afterwards)

    def features(self) -> frozenset[str]:
        """Return the CPU features by LLVM's names; empty if the server cannot ask the CPU."""
        (words,) = self._request("say what its CPU has", b"features\n")
        return frozenset(words.tobytes().decode().split())

    def open(
        self,
        path: Path,
        kind: Literal["vm", "module"],
        device: str = CPU,
        kernels: Path | None = None,
        prefix: str = "",
    ) -> int:
        """Load a library and return the number to call it by.

        Args:
            path: The library.
            kind: `vm` for TVM's virtual machine, `module` for plain functions.
            device: The GPU that the library launches kernels on.
            kernels: Those kernels, compiled for the server's CPU.
            prefix: Symbol prefix of a system library, which registers itself when it is loaded.

        Raises:
            BundleError: The request failed. All requests raise it.
        """
        number = next(self._libraries)
        request = f"open {number} {kind} {device}\n{path}\n{kernels or ''}\n{prefix}\n"
        self._request(f"load {path.name}", request.encode())
        return number

    def keep(self, array: Array, device: str = CPU) -> int:
        """Copy an array to a device for good and return the number to pass it by."""
        number = next(self._arrays)
        self._request("take an array", f"keep {number}\n".encode(), *_encode_array(array, "aligned", device))
        return number

    def call(
        self,
        library: int,
        function: str,
        arguments: Sequence[int | Array],
        *,
        result: Literal["results", "arguments"] = "results",
        place: Place = "aligned",
        device: str = CPU,
    ) -> tuple[Array, ...]:
        """Call a function and return its results, or its arguments after the call.

        Args:
            library: Number of the library.
            function: Name of the function.
            arguments: Arrays, or numbers of kept arrays.
            result: What to return.
            place: Where arguments lie in memory, see server.c.
            device: The device whose memory they lie in.
        """
        parts: list[bytes | memoryview] = [f"call {library} {function} {len(arguments)} {result}\n".encode()]
        for argument in arguments:
            if isinstance(argument, int):
                parts.append(f"kept {argument}\n".encode())
            else:
                parts += _encode_array(argument, place, device)
        print(f"{self.name} runs {function}", flush=True)  # so that the log of a hanging stage names it
        return self._request(f"run {function}", *parts)

    def _request(self, what: str, *parts: bytes | memoryview) -> tuple[Array, ...]:
        """Send a request and return the arrays of its reply.

        Raises BundleError if it failed, or if the server ended: the server is then closed.
        """
        try:
            reply = self._exchange(parts)
            word, count = reply.readline().split()
            if word == b"error":
                raise BundleError(
                    f"{self.name} could not {what}: {_first_line(_read_exactly(reply, int(count)))}"
                )
            return tuple(_read_array(reply) for _ in range(int(count)))
        except (OSError, ValueError) as error:  # it has ended, or sent half an answer
            self.close()
            raise BundleError(f"{self.name} could not {what}: {_describe_end(self._process)}.") from error

    def _exchange(self, parts: Sequence[bytes | memoryview]) -> IO[bytes]:
        """Send a request and return the stream of its reply."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        for part in parts:
            stdin.write(part)
        stdin.flush()
        return stdout


class ProcessSession(SessionBase):
    """Session of a bundle whose libraries and weights a server has loaded."""

    def __init__(
        self,
        bundle: Bundle,
        server: RunnerProcess,
        prepare: Callable[[Path], tuple[Path, str]] = lambda library: (library, ""),
        compile_kernels: Callable[[bytes, Path], object] | None = None,
    ) -> None:
        """Load every library and weight.

        Args:
            bundle: The bundle.
            server: The process that executes the code.
            prepare: See `Served.prepare`.
            compile_kernels: Compiles the text of kernels for a GPU to a library for the server.

        Raises:
            BundleError: A file differs from the manifest, cannot be loaded, or needs a feature that the
                server lacks.
        """
        if features := server.features():
            refuse_missing(bundle, features, server.name)
        self.bundle = bundle
        self._server = server
        self._machines: dict[tuple[str, int], int] = {}
        self._parameters: dict[str, list[int]] = {}
        with OpenFiles(bundle.component_files()) as files, TemporaryDirectory() as folder:
            for component in bundle.components.values():
                for library in component.libraries:
                    check_library(bundle, component, library, files[library.file])
                    path = Path(folder, library.file.path.name)
                    path.write_bytes(files[library.file].content())
                    kernels = None
                    if library.kernels is not None and compile_kernels is not None:
                        kernels = path.with_name(f"{library.kernels.path.name}.so")
                        compile_kernels(files[library.kernels].content(), kernels)
                    loaded, prefix = prepare(path)
                    machine = server.open(loaded, "vm", self._device(component), kernels, prefix)
                    self._machines[component.name, library.bucket] = machine
                tensors = map_safetensors(component.weights.path, files[component.weights])
                arrays = [find_parameter(component, port, tensors) for port in component.parameters]
                numbers = [server.keep(array, self._device(component)) for array in arrays]
                self._parameters[component.name] = numbers

    def _execute(
        self, component: Component, bucket: int, length: int, inputs: list[Array]
    ) -> tuple[Array, ...]:
        """Call the component's function in the server, on inputs and kept weights."""
        machine, parameters = self._machines[component.name, bucket], self._parameters[component.name]
        arguments: list[int | Array] = [*inputs, *parameters]
        return self._server.call(machine, component.function, arguments, device=self._device(component))

    def _device(self, component: Component) -> str:
        """Return the device that computes a component."""
        on_gpu = any(library.kernels is not None for library in component.libraries)
        return str(self.bundle.target["kind"]) if on_gpu else CPU


def _encode_array(array: Array, place: Place, device: str) -> list[bytes | memoryview]:
    """Encode an array: its header line and its bytes."""
    flat = np.ascontiguousarray(array)
    shape = "".join(f" {extent}" for extent in array.shape)
    line = f"{device} {_CODES[array.dtype.kind]} {array.dtype.itemsize * 8} {array.ndim}{shape} {place}\n"
    return [line.encode(), flat.reshape(-1).view(np.uint8).data]


def _read_array(stream: IO[bytes]) -> Array:
    """Read an array: its header line, then its bytes. Raises ValueError if it is cut short."""
    code, bits, _, *shape = map(int, stream.readline().split())
    dtype = np.dtype(f"{_KINDS[code]}{bits // 8}")
    content = _read_exactly(stream, dtype.itemsize * int(np.prod(shape, dtype=np.int64)))
    return np.frombuffer(content, dtype).reshape(shape)


def _read_exactly(stream: IO[bytes], size: int) -> bytes:
    """Read exactly `size` bytes. Raises ValueError if there are fewer."""
    content = stream.read(size)
    if len(content) < size:
        raise ValueError("the answer is cut short")
    return content


def _first_line(message: bytes) -> str:
    """Return the first line of an error message."""
    lines = message.decode(errors="replace").strip().splitlines()
    return lines[0] if lines else "it gave no reason"


def _describe_end(process: subprocess.Popen[bytes]) -> str:
    """Wait for a process, without limit, and return the exit status or signal that ended it as a clause."""
    status = process.wait()
    if status > 128:  # as a shell reports a signal
        status = 128 - status
    if status >= 0:
        return f"it ended with exit status {status}"
    number = signal.Signals(-status)
    hint = ", an instruction that this CPU lacks" if number == signal.SIGILL else ""
    return f"it was ended by signal {number.name}{hint}"


def _stop(process: subprocess.Popen[bytes], afterwards: Callable[[], None]) -> None:
    """Close a server's pipes, kill it if it has not ended a second later, then call `afterwards`."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:  # what was left to be written: nobody reads it any more
                continue
    try:
        process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    afterwards()
