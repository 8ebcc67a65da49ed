"""Which CPU kernels a checkout has, so that figures of earlier ones can be told from those of today's."""

from __future__ import annotations

from pathlib import Path

import kokoro_tvm
from kokoro_tvm.builder.engine.code import all_code
from kokoro_tvm.builder.engine.digest import digest

__all__ = ["kernels_digest"]

_BUILDS = "_build_cpu_kernel"  # the function of an operation's module that builds its CPU kernel
_GPU = "kokoro_tvm.kernels.gpu"
_DIGITS = 8


def kernels_digest() -> str:
    """Hash the code that builds the CPU kernels, as keys of stages do: comments change nothing."""
    modules = sorted((Path(kokoro_tvm.__file__).parent / "kernels").glob("*.py"))
    builders = [
        f"kokoro_tvm.kernels.{path.stem}:{_BUILDS}"
        for path in modules
        if f"\ndef {_BUILDS}(" in path.read_text(encoding="utf-8")
    ]
    # An operation's module also imports what builds its GPU kernel.
    code = {name: value for name, value in all_code(builders).items() if not name.startswith(_GPU)}
    return digest(code)[:_DIGITS]
