"""What stages are made of besides their inputs: code, versions of tools, the machine at hand."""

from __future__ import annotations

import importlib.util
import mmap
import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kokoro_tvm.build.code import function_code, source_digests
from kokoro_tvm.build.digest import versions
from kokoro_tvm.build.memory import learned
from kokoro_tvm.errors import BuildError

__all__ = [
    "OPS",
    "TORCH",
    "TVM",
    "cpu",
    "llvm_version",
    "sources",
    "stage_sources",
    "threads",
    "tvm_versions",
]

OPS = "kokoro_tvm.ops"
TORCH = ("torch", "kokoro", "transformers", "numpy")
TVM = ("apache-tvm", "apache-tvm-ffi")
_STAGES = "kokoro_tvm.build.stages"
# What only carries the recipe's words, puts errors into ours, or reads and keeps what others made.
_TELLING = tuple(
    f"kokoro_tvm.{module}"
    for module in (
        *("errors", "disk", "recipe", "recipe.checkpoint", "recipe.parts", "recipe.gates"),
        *("build.references", "build.digest", "build.durable"),
    )
)

_LLVM = re.compile(rb"LLVM version (\d+\.\d+\.\d+[ -~]*)")
_CPU = ("vendor_id", "cpu family", "model", "stepping", "flags", "CPU implementer", "CPU part", "Features")


def sources(modules: Sequence[str], apart: Sequence[str] = ()) -> dict[str, str]:
    """Digests of the code of these modules and what they import, less what decides about no output."""
    return source_digests(modules, apart=[*apart, *_TELLING])


def stage_sources(stage: str, besides: Sequence[str] = (), apart: Sequence[str] = ()) -> dict[str, str]:
    """The same of what a function of `kokoro_tvm.build.stages` imports, and of modules named `besides`."""
    _, imported = function_code(_STAGES, stage)
    return sources([*(name for name in imported if name not in apart), *besides], apart)


def tvm_versions() -> dict[str, str]:
    """Versions of TVM and of the LLVM in it."""
    return versions(*TVM) | {"llvm": llvm_version()}


def llvm_version() -> str:
    """Version of the LLVM that TVM's compiler library contains, read from it without loading it.

    Raises BuildError where there is no such library.
    """
    package = importlib.util.find_spec("tvm")
    folders = package.submodule_search_locations if package else None
    for library in sorted(path for folder in folders or () for path in Path(folder).glob("lib/libtvm*")):
        found = learned().recall(library, _llvm_inside, "llvm")
        if found:
            return found
    raise BuildError(
        "no compiler library of TVM with LLVM in it is installed: `pip install -e .` brings apache-tvm"
    )


def _llvm_inside(library: Path) -> str:
    with library.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = _LLVM.search(content)
        return found[1].decode() if found else ""


def threads() -> int:
    """How many threads stages that speak compute with; decides about no output."""
    from kokoro_tvm.runtime.threads import usable_cores  # which imports numpy, and nothing else here does

    return usable_cores()


def cpu() -> dict[str, Any]:
    """What tells this CPU from another, without asking the compiler."""
    listed = Path("/proc/cpuinfo")
    if not listed.is_file():  # not Linux
        return {"machine": platform.machine(), "processor": platform.processor()}
    lines = listed.read_text(encoding="utf-8").splitlines()
    told = {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    return {key: told.get(key, "") for key in _CPU}
