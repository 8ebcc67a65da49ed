"""The TVM runtime as two shared libraries for Linux."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from kokoro_tvm.libtvm.sources import FLAGS, ffi_sources, include_flags, runtime_sources
from kokoro_tvm.toolchains.cc import CCompiler

__all__ = ["FFI", "RUNTIME", "compile_linux"]

FFI, RUNTIME = "libtvm_ffi.so", "libtvm_runtime.so"


def compile_linux(compiler: CCompiler, out: Path, processes: int) -> None:
    """Writes FFI and RUNTIME into a folder; what they hold depends on no path.

    compiler: a g++ for Linux; processes: how many of it run together. Raises BuildError where it is not
    installed or fails, or where TVM is not installed.
    """
    flags = [*FLAGS, "-fPIC", *include_flags()]
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

        _link(compiler, objects(ffi_sources(), "TVM_FFI_EXPORTS"), out / FFI)
        runtime = objects(runtime_sources(), "TVM_RUNTIME_EXPORTS")
        _link(compiler, [*runtime, str(out / FFI)], out / RUNTIME)


def _link(compiler: CCompiler, parts: Sequence[str], out: Path) -> None:
    """A library that finds others in its own folder."""
    options = ["-shared", "-s", "-Wl,--gc-sections", "-Wl,-z,defs", f"-Wl,-soname,{out.name}"]
    options += ["-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN"]
    # A g++ before 13 calls libatomic for single bytes on RISC-V; who speaks need not have it.
    compiler.run([*options, *parts, "-lpthread", "-ldl", "-l:libatomic.a", "-o", str(out)], out.name)
