"""Loads the compiler and prints what recipes need; a program of its own, because loading TVM may crash.

Standard input: {recipe: {"target", "precision"}}; standard output: {"compiler": its
versions, "needs": {recipe: [CPU features]}, "problems": {recipe: why it cannot be built}}.
"""

from __future__ import annotations

import json
import sys
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Reads one request and prints its result."""
    import tvm
    from tvm.target import codegen

    from kokoro_tvm.common.errors import KokoroTvmError
    from kokoro_tvm.targets import target_kind

    result: dict[str, Any] = {"needs": {}, "problems": {}}
    result["compiler"] = f"TVM {tvm.__version__} with LLVM {codegen.llvm_version_major()}"
    for recipe, given in json.load(sys.stdin).items():
        kind = target_kind(given["target"]["kind"])
        spec = kind.spec.model_validate(given["target"], strict=False)
        try:
            result["needs"][recipe] = list(kind.resolve(spec, given["precision"]).required)
        except KokoroTvmError as error:
            result["problems"][recipe] = str(error)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
