"""Versions of the tools that builds use, without importing them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import mmap
import platform
import re
from functools import cache
from pathlib import Path

from kokoro_tvm.builder.engine.memory import process_memory
from kokoro_tvm.common.errors import BuildError

PYTHON = ">=3.11,<3.15"
"""Versions of Python that builds support. The runtime supports others, too."""

TORCH = ("torch", "kokoro", "transformers", "numpy")
TVM = ("apache-tvm", "apache-tvm-ffi")

_LLVM = re.compile(rb"LLVM version (\d+\.\d+\.\d+[ -~]*)")


def versions(*packages: str) -> dict[str, str]:
    """Return the installed versions of these distributions and of Python."""
    return {"python": platform.python_version()} | {p: _version(p) for p in packages}


def find_version(package: str) -> str | None:
    """Return the version of a distribution; None if it is not installed."""
    try:
        return _version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def tvm_versions() -> dict[str, str]:
    """Return the versions of TVM and of its LLVM."""
    return versions(*TVM) | {"llvm": llvm_version()}


def llvm_version() -> str:
    """Return the version of the LLVM in TVM's compiler library, without loading the library.

    Raises:
        BuildError: There is no such library.
    """
    package = importlib.util.find_spec("tvm")
    folders = package.submodule_search_locations if package else None
    for library in sorted(path for folder in folders or () for path in Path(folder).glob("lib/libtvm*")):
        version = process_memory().recall(library, _read_llvm_version, "llvm")
        if version:
            return version
    raise BuildError(
        "no compiler library of TVM with LLVM in it is installed: "
        "`pip install -e '.[build]'` brings apache-tvm"
    )


def _read_llvm_version(library: Path) -> str:
    """Return LLVM's version from the strings in a library; "" if none is there."""
    with library.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        match = _LLVM.search(content)
        return match[1].decode() if match else ""


@cache
def _version(package: str) -> str:
    return importlib.metadata.version(package)
