"""Compiler of CUDA to machine code by NVIDIA's wheels, without a GPU or CUDA's toolkit."""

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

_NVRTC, _NVFATBIN = "libnvrtc.so.13", "libnvfatbin.so.13"
_FOLDER = Path(__file__).parent / "nvrtc_headers"
_HEADERS = {
    "cuda/std/cstdint": "cstdint.h",
    "cuda/std/type_traits": "type_traits.h",
    "cuda_fp16.h": "cuda_fp16.h",
    "math_constants.h": "math_constants.h",
    "multiply_matrices.h": "multiply_matrices.h",
}
"""Headers by include name, ours and replacements of CUDA's, so that no toolkit is needed."""
_OPTIONS = (
    "--std=c++17",
    "--ptxas-options=--verbose",
    # TVM's code has unused variables, and constants with more digits than float32 has.
    "--diag-suppress=177,1046",
)
_MAX_SHARED_BYTES = 48 << 10  # static shared memory, on every architecture
_MAX_REGISTERS = 64 << 10  # per workgroup

_KERNEL = re.compile(r"Compiling entry function '(\w+)'")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_SPILLED = re.compile(r"(\d+) bytes spill stores")
_THREADS = re.compile(r'extern "C" __global__ void __launch_bounds__\((\d+)\) (\w+)\(')


@dataclass(frozen=True)
class KernelResources:
    """Resources of a kernel.

    Attributes:
        registers: Registers per thread.
        shared_bytes: Shared memory per workgroup.
        spilled_bytes: Memory per thread for spilled registers.
    """

    registers: int
    shared_bytes: int
    spilled_bytes: int


@dataclass(frozen=True)
class CompiledCuda:
    """Code for one architecture: machine code with resources by kernel for sm_N, PTX for compute_N."""

    architecture: str
    code: bytes
    resources: Mapping[str, KernelResources]


def version() -> str:
    """Return NVRTC's version. Raises BuildError if it is not installed."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _call(_load_library(_NVRTC), "nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
    return f"NVRTC {major.value}.{minor.value}"


def check() -> str | None:
    """Return why nothing can be compiled here and what to do about it; None if it can."""
    return problem_of(lambda: (version(), _load_library(_NVFATBIN)))


def compile_cuda(source: str, architecture: str) -> CompiledCuda:
    """Compile kernels as TVM prints them.

    Args:
        source: The kernels.
        architecture: sm_N, or compute_N for PTX.

    Raises:
        BuildError: NVRTC is not installed, refuses the source or warns of it, or a kernel exceeds a GPU's
            limits.
    """
    library = _load_library(_NVRTC)
    headers = {name: (_FOLDER / file).read_bytes() for name, file in _HEADERS.items()}
    texts, names = _c_strings([*headers.values()]), _c_strings([name.encode() for name in headers])
    with _handle(
        library, "nvrtc", "Program", source.encode(), b"kernels.cu", len(headers), texts, names
    ) as program:
        options = [option.encode() for option in (f"--gpu-architecture={architecture}", *_OPTIONS)]
        failed = library.nvrtcCompileProgram(program, len(options), _c_strings(options))
        log = _get_output(library, program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        if failed or "warning" in log:
            raise BuildError(f"{version()} refuses kernels for {architecture}: {log.strip()[:2000]}")
        if architecture.startswith("compute"):
            return CompiledCuda(architecture, _get_output(library, program, "PTX"), {})
        code = _get_output(library, program, "CUBIN")
    resources = _parse_resources(log)
    _check_limits(resources, architecture, {name: int(n) for n, name in _THREADS.findall(source)})
    return CompiledCuda(architecture, code, resources)


def fat_binary(source: str, architectures: Sequence[str]) -> tuple[bytes, dict[str, CompiledCuda]]:
    """Compile kernels for several architectures (sm_N), and PTX of the last one for later GPUs.

    Returns:
        One binary that the driver selects from, and its parts by architecture.

    Raises:
        BuildError: See `compile_cuda`.
    """
    parts = [compile_cuda(source, architecture) for architecture in architectures]
    parts.append(compile_cuda(source, architectures[-1].replace("sm_", "compute_")))
    library = _load_library(_NVFATBIN)
    with _handle(library, "nvFatbin", "", _c_strings([b"-64"]), 1) as handle:
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


def _parse_resources(log: str) -> dict[str, KernelResources]:
    """Return the resources of each kernel from the log of ptxas."""
    resources = {}
    _, *parts = _KERNEL.split(log)  # kernel names and the lines about them, alternating
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        numbers = [pattern.search(text) for pattern in (_USED, _SHARED, _SPILLED)]
        resources[name] = KernelResources(*(int(match[1]) if match else 0 for match in numbers))
    return resources


def _check_limits(
    resources: Mapping[str, KernelResources], architecture: str, threads: Mapping[str, int]
) -> None:
    """Raise BuildError if a kernel takes more shared memory or registers than a GPU has."""
    for name, usage in resources.items():
        registers = usage.registers * threads.get(name, 1)
        for what, number, most in (
            ("bytes of shared memory", usage.shared_bytes, _MAX_SHARED_BYTES),
            ("registers in a workgroup", registers, _MAX_REGISTERS),
        ):
            if number > most:
                raise BuildError(f"{name} takes {number} {what} of {architecture}, which has {most}")


@cache
def _load_library(file: str) -> Any:
    """Load a library of NVIDIA's wheels. Raises BuildError if it is not installed."""
    spec = importlib.util.find_spec("nvidia")
    folders = spec.submodule_search_locations or () if spec else ()
    for path in (path for folder in folders for path in sorted(Path(folder).glob(f"*/lib/{file}"))):
        return ctypes.CDLL(str(path))
    raise BuildError(f"no {file} to compile CUDA with: pip install 'kokoro-tvm[cuda]'")


def _call(library: Any, function: str, *arguments: Any) -> None:
    """Call a function of a library. Raises BuildError if it returns an error."""
    if error := getattr(library, function)(*arguments):
        raise BuildError(f"{function} fails with error {error}")


@contextmanager
def _handle(library: Any, prefix: str, what: str, *arguments: Any) -> Iterator[ctypes.c_void_p]:
    """Create a handle with `PREFIXCreateWHAT` and destroy it at the end."""
    handle = ctypes.c_void_p()
    _call(library, f"{prefix}Create{what}", ctypes.byref(handle), *arguments)
    try:
        yield handle
    finally:
        _call(library, f"{prefix}Destroy{what}", ctypes.byref(handle))


def _c_strings(values: Sequence[bytes]) -> Any:
    return (ctypes.c_char_p * len(values))(*values)


def _get_output(library: Any, program: Any, what: str) -> bytes:
    """Return an output of a program, by `nvrtcGetWHAT`: `PTX`, `CUBIN` or `ProgramLog`. Raises BuildError."""
    size = ctypes.c_size_t()
    _call(library, f"nvrtcGet{what}Size", program, ctypes.byref(size))
    data = ctypes.create_string_buffer(size.value)
    _call(library, f"nvrtcGet{what}", program, data)
    return data.raw
