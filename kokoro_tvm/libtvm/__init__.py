"""The TVM runtime for a platform that no wheel has it for."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from kokoro_tvm.libtvm import wasm
from kokoro_tvm.libtvm.linux import FFI, RUNTIME, compile_linux
from kokoro_tvm.libtvm.sources import headers
from kokoro_tvm.libtvm.wasm import WASM, compile_wasm
from kokoro_tvm.toolchains.cc import CCompiler
from kokoro_tvm.toolchains.zig import Zig

__all__ = ["FFI", "RUNTIME", "WASM", "Compiler", "compile_libtvm", "own_files"]

Compiler: TypeAlias = CCompiler | Zig


def own_files() -> list[Path]:
    """What of it is not in TVM's wheels."""
    return [*headers(), *wasm.sources()]


def compile_libtvm(compiler: Compiler, out: Path, processes: int) -> None:
    """Writes FFI and RUNTIME into a folder, or WASM, as the compiler is for. Raises BuildError."""
    if isinstance(compiler, Zig):
        compile_wasm(compiler, out, processes)
    else:
        compile_linux(compiler, out, processes)
