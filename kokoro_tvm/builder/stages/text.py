"""Stage `text`: compile the C front end to WebAssembly, with which pages and Node read text."""

from __future__ import annotations

from pathlib import Path

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.stages.base import Place
from kokoro_tvm.builder.stages.libkokoro import source_facts
from kokoro_tvm.native.libkokoro import compile_text, text_sources
from kokoro_tvm.native.toolchains.zig import WASI


def declare(place: Place) -> Stage:
    """Declare the stage."""
    return place.stage(
        "text",
        doc="compile the front end to WebAssembly",
        outputs=("text.wasm",),
        facts=lambda: {"compiler": WASI.version(), **source_facts(text_sources())},
    )


def run(out: Path, inputs: Inputs) -> None:
    """Compile the front end.

    Raises:
        BuildError: zig is not installed, or fails.
    """
    compile_text(WASI, out / "text.wasm")
