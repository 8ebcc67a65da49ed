"""What tests compile, kept between runs under what it is made of: a second run compiles what has changed."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tvm_ffi
from checkout import ROOT
from elsewhere import OPTIONS
from filelock import FileLock

from kokoro_tvm.builder.engine.digest import digest
from kokoro_tvm.builder.engine.versions import TVM, versions
from kokoro_tvm.compiler.codegen import generate_kernel
from kokoro_tvm.native.toolchains.gnu import GNU
from kokoro_tvm.targets import Machine, tvm_target

__all__ = ["kept", "native_kernel"]

FOLDER = ROOT / ".pytest_cache" / "d" / "compiled"  # which --cache-clear empties
_UNUSED_S = 14 * 24 * 3600


def kept(made_of: Mapping[str, Any], make: Callable[[Path], None]) -> Path:
    """The library that `make` writes to the path it is given, by the first worker that needs it.

    made_of: everything that decides about its bytes. What no run has used for two weeks is removed.
    """
    key = digest({**made_of, "tools": _tools()})
    path = FOLDER / f"{key}.so"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with FileLock(FOLDER / f"{key[:2]}.lock"):
        if path.exists():
            os.utime(path)
            return path
        with TemporaryDirectory(dir=FOLDER) as folder:
            make(Path(folder, path.name))
            Path(folder, path.name).replace(path)
    for other in FOLDER.glob("*.so"):
        with suppress(FileNotFoundError):  # another worker was first
            if other.stat().st_mtime < time.time() - _UNUSED_S:
                other.unlink()
    return path


def native_kernel(function: Any, machine: Machine) -> Any:
    """A kernel that runs in this process, compiled and linked as a recipe's are."""
    name = str(function.attrs["global_symbol"])

    def make(out: Path) -> None:
        generate_kernel(name, function, machine, OPTIONS).write_to_file(str(out.with_suffix(".o")))
        GNU.link([out.with_suffix(".o")], out)

    script = hashlib.sha256(function.script(show_meta=True).encode()).hexdigest()
    made_of = {"kernel": script, "target": str(tvm_target(machine)), "pass_context": OPTIONS}
    return tvm_ffi.load_module(str(kept(made_of, make)))[name]


@cache
def _tools() -> dict[str, str]:
    return {**versions(*TVM), "linker": GNU.version()}
