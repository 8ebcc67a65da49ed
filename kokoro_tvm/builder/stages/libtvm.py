"""Stage `libtvm`: compile the TVM runtime for a platform that has no wheel."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.memory import process_memory
from kokoro_tvm.builder.engine.resources import Needs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.versions import TVM, versions
from kokoro_tvm.builder.stages.base import Place, threads
from kokoro_tvm.native.libtvm import compile_libtvm, own_files
from kokoro_tvm.native.toolchains.cc import CCompiler
from kokoro_tvm.native.toolchains.zig import ZIG
from kokoro_tvm.targets import CompiledLibrary

_COMPILER_GB = 0.5  # memory of g++ for the largest source


def declare(place: Place, libraries: Mapping[str, CompiledLibrary]) -> Stage:
    """Declare the stage. `libraries`: by their role, all of one compiler; each is an output."""
    (compiler,) = {library.compiler for library in libraries.values()}
    return place.stage(
        "libtvm",
        doc="compile the TVM runtime for the target's platform",
        outputs=tuple(library.name for library in libraries.values()),
        parameters={"compiler": asdict(compiler)},
        settings=lambda: {"processes": threads()},
        facts=lambda: {
            "compiler": compiler.version(),
            "sources": {path.name: process_memory().sha256(path) for path in own_files()},
            "versions": versions(*TVM),  # their sources are compiled
        },
        needs=Needs(_COMPILER_GB * (os.cpu_count() or 1), math.inf),  # all cores
    )


def run(out: Path, inputs: Inputs, *, compiler: dict[str, str], processes: int) -> None:
    """Compile the libraries.

    Args:
        out: Folder of the outputs.
        inputs: None.
        compiler: Fields of a `CCompiler`; empty: zig.
        processes: Number of compilers that run at the same time.

    Raises:
        BuildError: The compiler is not installed, or fails.
    """
    compile_libtvm(CCompiler(**compiler) if compiler else ZIG, out, processes)
