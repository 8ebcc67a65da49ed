"""A bundle's code in a process of another kind, which `server.c` serves: what every emulator shares."""

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

__all__ = ["ProcessSession", "RunnerProcess"]

Array = NDArray[Any]
Place = Literal["aligned", "end", "start"]
CPU = "cpu"
_CODES = {"i": 0, "u": 1, "f": 2}  # of DLPack's types, by numpy's kinds
_KINDS = {code: kind for kind, code in _CODES.items()}


class RunnerProcess:
    """The other process. One request at a time."""

    def __init__(
        self,
        command: Sequence[str],
        name: str,
        environment: Mapping[str, str] | None = None,
        afterwards: Callable[[], None] = lambda: None,
    ) -> None:
        """name: of what executes the code, in errors; environment: more variables; afterwards: called once
        the process ended."""
        self.name = name
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | (environment or {})
        )
        self._libraries, self._arrays = itertools.count(), itertools.count()
        self.close = weakref.finalize(self, _end, self._process, afterwards)

    def features(self) -> frozenset[str]:
        """What the CPU has, by LLVM's names; empty where the server knows no way to ask it."""
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
        """Loads a library, as TVM's virtual machine or as its functions; the number to call it by.

        kernels: those that it launches on the GPU `device`, compiled for the server's CPU; prefix: of a
        system library, which makes itself known when it is loaded.
        Raises BundleError, as all requests do.
        """
        number = next(self._libraries)
        request = f"open {number} {kind} {device}\n{path}\n{kernels or ''}\n{prefix}\n"
        self._request(f"load {path.name}", request.encode())
        return number

    def keep(self, array: Array, device: str = CPU) -> int:
        """Hands over an array that stays, on a device; the number to pass it by."""
        number = next(self._arrays)
        self._request("take an array", f"keep {number}\n".encode(), *_described(array, "aligned", device))
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
        """What a function returned, or its arguments after it ran; an argument that is a number is kept.

        place: of the arguments in memory, see server.c; device: whose memory.
        """
        parts: list[bytes | memoryview] = [f"call {library} {function} {len(arguments)} {result}\n".encode()]
        for argument in arguments:
            if isinstance(argument, int):
                parts.append(f"kept {argument}\n".encode())
            else:
                parts += _described(argument, place, device)
        print(f"{self.name} runs {function}", flush=True)  # in the log of a stage that does not end
        return self._request(f"run {function}", *parts)

    def _request(self, what: str, *parts: bytes | memoryview) -> tuple[Array, ...]:
        try:
            reply = self._exchange(parts)
            word, count = reply.readline().split()
            if word == b"error":
                raise BundleError(f"{self.name} could not {what}: {_first_line(_read(reply, int(count)))}")
            return tuple(_array(reply) for _ in range(int(count)))
        except (OSError, ValueError) as error:  # it is gone, or sent half an answer
            self.close()
            raise BundleError(f"{self.name} could not {what}: {_ending(self._process)}.") from error

    def _exchange(self, parts: Sequence[bytes | memoryview]) -> IO[bytes]:
        """Sends a request; what the reply is read from."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        for part in parts:
            stdin.write(part)
        stdin.flush()
        return stdout


class ProcessSession(SessionBase):
    """Every library and weight of a bundle, loaded by a server."""

    def __init__(
        self,
        bundle: Bundle,
        server: RunnerProcess,
        prepare: Callable[[Path], tuple[Path, str]] = lambda library: (library, ""),
        compile_kernels: Callable[[bytes, Path], None] | None = None,
    ) -> None:
        """prepare: see Served; compile_kernels: makes a library for the server of the text of kernels for a
        GPU.

        Raises BundleError where a file is not the one the manifest names, or cannot be loaded, or the
        server's CPU lacks a feature that the code may use, and what compile_kernels raises.
        """
        if had := server.features():
            refuse_missing(bundle, had, server.name)
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
                kept = [server.keep(array, self._device(component)) for array in arrays]
                self._parameters[component.name] = kept

    def _execute(
        self, component: Component, bucket: int, length: int, inputs: list[Array]
    ) -> tuple[Array, ...]:
        machine, kept = self._machines[component.name, bucket], self._parameters[component.name]
        arguments: list[int | Array] = [*inputs, *kept]
        return self._server.call(machine, component.function, arguments, device=self._device(component))

    def _device(self, component: Component) -> str:
        """Where a component computes."""
        on_gpu = any(library.kernels is not None for library in component.libraries)
        return str(self.bundle.target["kind"]) if on_gpu else CPU


def _described(array: Array, place: Place, device: str) -> list[bytes | memoryview]:
    """An array as a request has it: its line, and its bytes."""
    flat = np.ascontiguousarray(array)
    shape = "".join(f" {extent}" for extent in array.shape)
    line = f"{device} {_CODES[array.dtype.kind]} {array.dtype.itemsize * 8} {array.ndim}{shape} {place}\n"
    return [line.encode(), flat.reshape(-1).view(np.uint8).data]


def _array(stream: IO[bytes]) -> Array:
    code, bits, _, *shape = map(int, stream.readline().split())
    dtype = np.dtype(f"{_KINDS[code]}{bits // 8}")
    content = _read(stream, dtype.itemsize * int(np.prod(shape, dtype=np.int64)))
    return np.frombuffer(content, dtype).reshape(shape)


def _read(stream: IO[bytes], size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise ValueError("the answer is cut short")
    return content


def _first_line(message: bytes) -> str:
    lines = message.decode(errors="replace").strip().splitlines()
    return lines[0] if lines else "it gave no reason"


def _ending(process: subprocess.Popen[bytes]) -> str:
    status = process.wait()
    if status > 128:  # as a shell reports a signal
        status = 128 - status
    if status >= 0:
        return f"it ended with exit status {status}"
    number = signal.Signals(-status)
    hint = ", an instruction that this CPU lacks" if number == signal.SIGILL else ""
    return f"it was ended by signal {number.name}{hint}"


def _end(process: subprocess.Popen[bytes], afterwards: Callable[[], None]) -> None:
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
