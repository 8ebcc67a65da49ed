"""Compiles CUDA to machine code where there is neither a GPU nor CUDA's toolkit, by NVIDIA's wheels."""

from __future__ import annotations

import ctypes
import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.native.toolchains import problem_of

__all__ = ["CompiledCuda", "KernelResources", "check", "compile_cuda", "fat_binary", "version"]

_NVRTC, _NVFATBIN = "libnvrtc.so.13", "libnvfatbin.so.13"
_FOLDER = Path(__file__).parent / "nvrtc_headers"
_HEADERS = {
    "cuda/std/cstdint": "cstdint.h",
    "cuda/std/type_traits": "type_traits.h",
    "cuda_fp16.h": "cuda_fp16.h",
    "math_constants.h": "math_constants.h",
    "multiply_matrices.h": "multiply_matrices.h",
}
"""What the text includes, in the place of CUDA's own headers, so that no toolkit is needed, and of ours."""
_OPTIONS = (
    "--std=c++17",
    "--ptxas-options=--verbose",
    # TVM names values that it then does not use, and prints constants with more digits than float32 has.
    "--diag-suppress=177,1046",
)
_MOST_SHARED = 48 << 10  # bytes of static shared memory, on every architecture
_MOST_REGISTERS = 64 << 10  # of a workgroup

_KERNEL = re.compile(r"Compiling entry function '(\w+)'")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_SPILLED = re.compile(r"(\d+) bytes spill stores")
_THREADS = re.compile(r'extern "C" __global__ void __launch_bounds__\((\d+)\) (\w+)\(')


@dataclass(frozen=True)
class KernelResources:
    """What a kernel takes of a GPU. registers: of a thread; shared_bytes: of a workgroup; spilled_bytes: of a
    thread, registers that are kept in memory."""

    registers: int
    shared_bytes: int
    spilled_bytes: int


@dataclass(frozen=True)
class CompiledCuda:
    """Code for one architecture: machine code for sm_N, with each kernel's resources, PTX for compute_N."""

    architecture: str
    code: bytes
    resources: Mapping[str, KernelResources]


def version() -> str:
    """The compiler's. Raises BuildError where it is not installed."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _call(_library(_NVRTC), "nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
    return f"NVRTC {major.value}.{minor.value}"


def check() -> str | None:
    """Why nothing can be compiled here, with what to do about it; None where it can."""
    return problem_of(lambda: (version(), _library(_NVFATBIN)))


def compile_cuda(source: str, architecture: str) -> CompiledCuda:
    """Compiles kernels as TVM prints them.

    architecture: sm_N, or compute_N for PTX. Raises BuildError where the compiler is not installed, where it
    refuses the source or warns of it, and for a kernel that takes more than a GPU has.
    """
    library = _library(_NVRTC)
    headers = {name: (_FOLDER / file).read_bytes() for name, file in _HEADERS.items()}
    texts, names = _strings([*headers.values()]), _strings([name.encode() for name in headers])
    with _handle(
        library, "nvrtc", "Program", source.encode(), b"kernels.cu", len(headers), texts, names
    ) as program:
        options = [option.encode() for option in (f"--gpu-architecture={architecture}", *_OPTIONS)]
        failed = library.nvrtcCompileProgram(program, len(options), _strings(options))
        log = _bytes(library, program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        if failed or "warning" in log:
            raise BuildError(f"{version()} refuses kernels for {architecture}: {log.strip()[:2000]}")
        if architecture.startswith("compute"):
            return CompiledCuda(architecture, _bytes(library, program, "PTX"), {})
        code = _bytes(library, program, "CUBIN")
    resources = _resources(log)
    _check_limits(resources, architecture, {name: int(n) for n, name in _THREADS.findall(source)})
    return CompiledCuda(architecture, code, resources)


def fat_binary(source: str, architectures: Sequence[str]) -> tuple[bytes, dict[str, CompiledCuda]]:
    """Kernels for several generations of GPUs (sm_N), and PTX of the last for those after it, as one binary
    that the driver chooses from; and its parts by their architectures. Raises BuildError, see
    `compile_cuda`."""
    parts = [compile_cuda(source, architecture) for architecture in architectures]
    parts.append(compile_cuda(source, architectures[-1].replace("sm_", "compute_")))
    library = _library(_NVFATBIN)
    with _handle(library, "nvFatbin", "", _strings([b"-64"]), 1) as handle:
        for part in parts:
            number = part.architecture.partition("_")[2].encode()
            if part.architecture.startswith("sm_"):
                _call(library, "nvFatbinAddCubin", handle, part.code, len(part.code), number, b"kernels")
            else:
                _call(library, "nvFatbinAddPTX", handle, part.code, len(part.code), number, b"kernels", None)
        size = ctypes.c_size_t()
        _call(library, "nvFatbinSize", handle, ctypes.byref(size))
        binary = ctypes.create_string_buffer(size.value)
        _call(library, "nvFatbinGet", handle, binary)
    return binary.raw, {part.architecture: part for part in parts}


def _resources(log: str) -> dict[str, KernelResources]:
    """What ptxas says of each kernel."""
    found = {}
    _, *parts = _KERNEL.split(log)  # a kernel's name and the lines about it, by turns
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        numbers = [pattern.search(text) for pattern in (_USED, _SHARED, _SPILLED)]
        found[name] = KernelResources(*(int(match[1]) if match else 0 for match in numbers))
    return found


def _check_limits(
    resources: Mapping[str, KernelResources], architecture: str, threads: Mapping[str, int]
) -> None:
    for name, taken in resources.items():
        registers = taken.registers * threads.get(name, 1)
        for what, number, most in (
            ("bytes of shared memory", taken.shared_bytes, _MOST_SHARED),
            ("registers in a workgroup", registers, _MOST_REGISTERS),
        ):
            if number > most:
                raise BuildError(f"{name} takes {number} {what} of {architecture}, which has {most}")


@cache
def _library(file: str) -> Any:
    """Of NVIDIA's wheels. Raises BuildError where it is not installed."""
    spec = importlib.util.find_spec("nvidia")
    folders = spec.submodule_search_locations or () if spec else ()
    for path in (path for folder in folders for path in sorted(Path(folder).glob(f"*/lib/{file}"))):
        return ctypes.CDLL(str(path))
    raise BuildError(f"no {file} to compile CUDA with: pip install 'kokoro-tvm[cuda]'")


def _call(library: Any, function: str, *given: Any) -> None:
    if error := getattr(library, function)(*given):
        raise BuildError(f"{function} fails with error {error}")


@contextmanager
def _handle(library: Any, prefix: str, what: str, *given: Any) -> Iterator[ctypes.c_void_p]:
    """What a library creates, until it is destroyed: `prefix`Create`what`."""
    handle = ctypes.c_void_p()
    _call(library, f"{prefix}Create{what}", ctypes.byref(handle), *given)
    try:
        yield handle
    finally:
        _call(library, f"{prefix}Destroy{what}", ctypes.byref(handle))


def _strings(values: Sequence[bytes]) -> Any:
    return (ctypes.c_char_p * len(values))(*values)


def _bytes(library: Any, program: Any, what: str) -> bytes:
    size = ctypes.c_size_t()
    _call(library, f"nvrtcGet{what}Size", program, ctypes.byref(size))
    data = ctypes.create_string_buffer(size.value)
    _call(library, f"nvrtcGet{what}", program, data)
    return data.raw
