"""The TVM runtime for a platform that no wheel has it for: compiled from the sources that the wheels hold,
and from headers of our own that these sources lack.

Of libtvm_runtime, only what the virtual machine needs is compiled: no RPC, no disco, no device but the CPU.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from kokoro_tvm.errors import BuildError
from kokoro_tvm.toolchains.cc import CCompiler

__all__ = ["FFI", "RUNTIME", "compile_libtvm", "headers"]

FFI, RUNTIME = "libtvm_ffi.so", "libtvm_runtime.so"

_INCLUDE = Path(__file__).with_name("include")
_APART = ("backtrace_win.cc", "testing.cc")  # of libtvm_ffi: for Windows, and what only its own tests need
_RUNTIME_SOURCES = (
    *(f"{name}.cc" for name in ("cpu_device_api", "device_api", "file_utils", "logging", "module", "tensor")),
    *(f"{name}.cc" for name in ("thread_pool", "threading_backend", "timer", "workspace_pool")),
    "memory/memory_manager.cc",
    *(f"vm/{name}.cc" for name in ("builtin", "bytecode", "executable", "vm")),
)


def headers() -> list[Path]:
    """The headers that TVM's sources lack in its wheels."""
    return sorted(_INCLUDE.rglob("*.h"))


def compile_libtvm(compiler: CCompiler, out: Path, processes: int) -> None:
    """Writes FFI and RUNTIME into a folder; what they hold depends on no path.

    compiler: a g++ for Linux; processes: how many of it run together. Raises BuildError where it is not
    installed or fails, or where TVM is not installed.
    """
    tvm, ffi = _installed("tvm"), _installed("tvm_ffi")
    # TVM's sources include headers by their distance: "../support/utils.h" and "../../support/bytes_io.h".
    places = [_INCLUDE, _INCLUDE / "tvm", _INCLUDE / "tvm" / "support", tvm / "include", ffi / "include"]
    flags = ["-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden"]
    flags += ["-DTVM_FFI_USE_LIBBACKTRACE=0", "-DTVM_FFI_BACKTRACE_ON_SEGFAULT=0"]
    flags += [f"-I{place}" for place in places]
    flags += [f"-ffile-prefix-map={place}={place.name}" for place in (tvm, ffi, _INCLUDE)]
    ffi_sources = [path for path in sorted((ffi / "src").rglob("*.cc")) if path.name not in _APART]
    runtime_sources = [tvm / "src" / "runtime" / name for name in _RUNTIME_SOURCES]
    with TemporaryDirectory(prefix="kokoro-tvm-") as folder:

        def objects(sources: Sequence[Path], define: str) -> list[str]:
            """The same order every time, for it decides about the library's layout."""
            made = [str(Path(folder, f"{define}-{number}.o")) for number in range(len(sources))]
            commands = [
                [*flags, f"-D{define}", "-c", str(s), "-o", o] for s, o in zip(sources, made, strict=True)
            ]
            with ThreadPoolExecutor(processes) as pool:
                list(pool.map(compiler.run, commands, (source.name for source in sources)))
            return made

        _link(compiler, objects(ffi_sources, "TVM_FFI_EXPORTS"), out / FFI)
        runtime = objects(runtime_sources, "TVM_RUNTIME_EXPORTS")
        _link(compiler, [*runtime, str(out / FFI)], out / RUNTIME)


def _link(compiler: CCompiler, parts: Sequence[str], out: Path) -> None:
    """A library that finds others in its own folder."""
    options = ["-shared", "-s", "-Wl,--gc-sections", "-Wl,-z,defs", f"-Wl,-soname,{out.name}"]
    options += ["-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN"]
    # A g++ before 13 calls libatomic for single bytes on RISC-V; who speaks need not have it.
    compiler.run([*options, *parts, "-lpthread", "-ldl", "-l:libatomic.a", "-o", str(out)], out.name)


def _installed(package: str) -> Path:
    """The folder of an installed package, found without importing it. Raises BuildError."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise BuildError(f"{package} is not installed: `pip install -e '.[build]'` brings it")
    return Path(found.origin).parent
