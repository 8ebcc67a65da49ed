"""What stages are made of besides their inputs: code, versions of tools, the machine at hand."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kokoro_tvm.build.digest import source_digests

__all__ = ["OPS", "TORCH", "TVM", "cpu", "sources"]

OPS = "kokoro_tvm.ops"
TORCH = ("torch", "kokoro", "transformers", "numpy")
TVM = ("apache-tvm", "apache-tvm-ffi")
_TELLING = tuple(f"kokoro_tvm.{m}" for m in ("errors", "recipe.checkpoint", "recipe.parts", "recipe.gates"))

_CPU = ("vendor_id", "cpu family", "model", "stepping", "flags", "CPU implementer", "CPU part", "Features")


def sources(modules: Sequence[str], apart: Sequence[str] = ()) -> dict[str, str]:
    """Digests of these modules' code, less what only carries the recipe's words or puts errors into ours."""
    return source_digests(modules, apart=[*apart, *_TELLING])


def cpu() -> dict[str, Any]:
    """What tells this CPU from another, without asking the compiler."""
    listed = Path("/proc/cpuinfo")
    if not listed.is_file():  # not Linux
        return {"machine": platform.machine(), "processor": platform.processor()}
    lines = listed.read_text(encoding="utf-8").splitlines()
    told = {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    return {key: told.get(key, "") for key in _CPU}
