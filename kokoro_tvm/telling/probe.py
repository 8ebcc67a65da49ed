"""Loads the compiler and asks it what recipes need: run as a program, so that what breaks breaks alone.

Standard input: {recipe: {"mcpu", "mtriple", "mattr", "precision"}}; standard output: {"compiler": its
versions, "needs": {recipe: [CPU features]}, "problems": {recipe: why it cannot be built}}.
"""

from __future__ import annotations

import json
import sys
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Answers once."""
    import tvm
    from tvm.target import codegen

    from kokoro_tvm.errors import KokoroTvmError
    from kokoro_tvm.target import resolve

    told: dict[str, Any] = {"needs": {}, "problems": {}}
    told["compiler"] = f"TVM {tvm.__version__} with LLVM {codegen.llvm_version_major()}"
    for recipe, target in json.load(sys.stdin).items():
        try:
            told["needs"][recipe] = list(resolve(**target).required)
        except KokoroTvmError as error:
            told["problems"][recipe] = str(error)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
