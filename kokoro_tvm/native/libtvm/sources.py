"""Sources of the TVM runtime: those of the installed wheels, and headers of our own that the wheels lack.

libtvm_runtime is reduced to the virtual machine: no RPC, no disco, no device but the CPU.
"""

from __future__ import annotations

from pathlib import Path

from kokoro_tvm.common.packages import find_package_folder

FLAGS = (
    *("-std=c++17", "-O2", "-fvisibility=hidden", "-fvisibility-inlines-hidden"),
    *("-DTVM_FFI_USE_LIBBACKTRACE=0", "-DTVM_FFI_BACKTRACE_ON_SEGFAULT=0"),
)
"""Options for every source on every platform."""

_INCLUDE = Path(__file__).with_name("include")
_EXCLUDED = ("backtrace_win.cc", "testing.cc")  # of libtvm_ffi
_RUNTIME = (
    *(f"{name}.cc" for name in ("cpu_device_api", "device_api", "file_utils", "logging", "module", "tensor")),
    *(f"{name}.cc" for name in ("thread_pool", "threading_backend", "timer", "workspace_pool")),
    "memory/memory_manager.cc",
    *(f"vm/{name}.cc" for name in ("builtin", "bytecode", "executable", "vm")),
)


def headers() -> list[Path]:
    """List the headers that the wheels lack."""
    return sorted(_INCLUDE.rglob("*.h"))


def ffi_sources() -> list[Path]:
    """List the sources of libtvm_ffi. Raises BuildError if it is not installed."""
    folder = find_package_folder("tvm_ffi") / "src"
    return [path for path in sorted(folder.rglob("*.cc")) if path.name not in _EXCLUDED]


def runtime_sources() -> list[Path]:
    """List the sources of libtvm_runtime. Raises BuildError if it is not installed."""
    return [find_package_folder("tvm") / "src" / "runtime" / name for name in _RUNTIME]


def include_flags() -> list[str]:
    """Return include options that leave no path in the compiled code."""
    tvm, ffi = find_package_folder("tvm"), find_package_folder("tvm_ffi")
    # TVM's sources include headers by relative paths: "../support/utils.h" and "../../support/bytes_io.h".
    places = [_INCLUDE, _INCLUDE / "tvm", _INCLUDE / "tvm" / "support", tvm / "include", ffi / "include"]
    flags = [f"-I{place}" for place in places]
    return [*flags, *(f"-ffile-prefix-map={place}={place.name}" for place in (tvm, ffi, _INCLUDE))]
