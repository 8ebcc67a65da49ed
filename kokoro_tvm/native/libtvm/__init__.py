"""The TVM runtime, compiled for platforms without wheels."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from kokoro_tvm.native.libtvm import wasm
from kokoro_tvm.native.libtvm.sources import FLAGS, ffi_sources, headers, include_flags, runtime_sources
from kokoro_tvm.native.libtvm.wasm import WASM, compile_wasm
from kokoro_tvm.native.toolchains.cc import CCompiler
from kokoro_tvm.native.toolchains.zig import Zig

__all__ = ["FFI", "RUNTIME", "WASM", "Compiler", "compile_libtvm", "own_files"]

FFI, RUNTIME = "libtvm_ffi.so", "libtvm_runtime.so"

Compiler: TypeAlias = CCompiler | Zig


def own_files() -> list[Path]:
    """List the files of this package that are compiled into the runtime."""
    return [*headers(), *wasm.sources()]


def compile_libtvm(compiler: Compiler, out: Path, processes: int) -> None:
    """Compile FFI and RUNTIME, or WASM, into a folder. Raises BuildError."""
    if isinstance(compiler, Zig):
        compile_wasm(compiler, out, processes)
    else:
        _compile_linux(compiler, out, processes)


def _compile_linux(compiler: CCompiler, out: Path, processes: int) -> None:
    """Compile FFI and RUNTIME into a folder; their content depends on no path.

    Args:
        compiler: A g++ for Linux.
        out: The folder.
        processes: Number of compilers that run at a time.

    Raises:
        BuildError: The compiler is missing or fails, or TVM is not installed.
    """
    flags = [*FLAGS, "-fPIC", *include_flags()]
    with TemporaryDirectory(prefix="kokoro-tvm-") as folder:

        def objects(sources: Sequence[Path], define: str) -> list[str]:
            """Compile sources in a fixed order, which decides about the layout of the library."""
            paths = [str(Path(folder, f"{define}-{number}.o")) for number in range(len(sources))]
            commands = [
                [*flags, f"-D{define}", "-c", str(s), "-o", o] for s, o in zip(sources, paths, strict=True)
            ]
            with ThreadPoolExecutor(processes) as pool:
                list(pool.map(compiler.run, commands, (source.name for source in sources)))
            return paths

        _link(compiler, objects(ffi_sources(), "TVM_FFI_EXPORTS"), out / FFI)
        runtime = objects(runtime_sources(), "TVM_RUNTIME_EXPORTS")
        _link(compiler, [*runtime, str(out / FFI)], out / RUNTIME)


def _link(compiler: CCompiler, parts: Sequence[str], out: Path) -> None:
    """Link a library that loads others from its own folder."""
    options = ["-shared", "-s", "-Wl,--gc-sections", "-Wl,-z,defs", f"-Wl,-soname,{out.name}"]
    options += ["-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN"]
    # g++ before 13 calls libatomic for single bytes on RISC-V; link it statically.
    compiler.run([*options, *parts, "-lpthread", "-ldl", "-l:libatomic.a", "-o", str(out)], out.name)
