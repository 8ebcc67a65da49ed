"""Stage `libkokoro`: compile the C library and its program `speak` for the target."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.code import hash_all_code
from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.memory import process_memory
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.versions import versions
from kokoro_tvm.builder.stages.base import Place
from kokoro_tvm.native import libkokoro
from kokoro_tvm.native.libkokoro import HEADER, compile_libkokoro, names_of, sources
from kokoro_tvm.native.libkokoro.generated import MODULES
from kokoro_tvm.native.toolchains.cc import CCompiler
from kokoro_tvm.native.toolchains.zig import ZigC
from kokoro_tvm.recipe import Recipe
from kokoro_tvm.targets import target_kind, tools_for

ABBREVIATIONS = libkokoro.FOLDER.parents[1] / "runtime" / "text" / "abbreviations.json"


def declare(place: Place, recipe: Recipe) -> Stage:
    """Declare the stage."""
    names = names_of(tools_for(recipe.target).c_compiler())
    return place.stage(
        "libkokoro",
        doc="compile libkokoro and speak",
        outputs=(names.library, names.program, HEADER),
        settings=lambda: {"compiler": asdict(compiler_of(recipe))},
        facts=lambda: {
            "compiler": compiler_of(recipe).version(),
            "platform": asdict(target_kind(recipe.target.kind).platform(recipe.target)),
            "versions": versions("apache-tvm-ffi"),  # its headers are compiled in
            **source_facts(sources()),
        },
    )


def source_facts(paths: Sequence[Path]) -> dict[str, Any]:
    """Return the digests of C sources, and of what their generated tables are made of."""
    return {
        "sources": {
            path.relative_to(libkokoro.FOLDER).as_posix(): process_memory().sha256(path) for path in paths
        },
        "tables": {
            "unicode": unicodedata.unidata_version,
            "abbreviations": process_memory().sha256(ABBREVIATIONS),
            **hash_all_code(MODULES),  # without importing the modules
        },
    }


def compiler_of(recipe: Recipe) -> CCompiler:
    """Return the C compiler for a recipe's target. Recipes with `runtime.c` for other targets are refused."""
    compiler = tools_for(recipe.target).c_compiler()
    assert compiler is not None
    return compiler


def run(out: Path, inputs: Inputs, *, compiler: dict[str, str]) -> None:
    """Compile the library and the program.

    Raises:
        BuildError: The compiler is not installed, or fails.
    """
    compile_libkokoro((ZigC if "target" in compiler else CCompiler)(**compiler), out)
    shutil.copyfile(next(path for path in sources() if path.name == HEADER), out / HEADER)
