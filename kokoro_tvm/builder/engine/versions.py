"""Versions of the tools that builds call, found without importing any."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import mmap
import platform
import re
from functools import cache
from pathlib import Path

from kokoro_tvm.builder.engine.memory import learned
from kokoro_tvm.common.errors import BuildError

__all__ = [
    "PYTHON",
    "TORCH",
    "TVM",
    "installed",
    "llvm_version",
    "tvm_versions",
    "versions",
]

PYTHON = ">=3.11,<3.15"
"""The Python that builds. What speaks runs on others, too."""

TORCH = ("torch", "kokoro", "transformers", "numpy")
TVM = ("apache-tvm", "apache-tvm-ffi")

_LLVM = re.compile(rb"LLVM version (\d+\.\d+\.\d+[ -~]*)")


def versions(*packages: str) -> dict[str, str]:
    """Installed versions of these distributions, and Python's."""
    return {"python": platform.python_version()} | {p: _version(p) for p in packages}


def installed(package: str) -> str | None:
    """Version of a distribution that may be missing."""
    try:
        return _version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


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
        "no compiler library of TVM with LLVM in it is installed: "
        "`pip install -e '.[build]'` brings apache-tvm"
    )


def _llvm_inside(library: Path) -> str:
    with library.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = _LLVM.search(content)
        return found[1].decode() if found else ""


@cache
def _version(package: str) -> str:
    return importlib.metadata.version(package)
