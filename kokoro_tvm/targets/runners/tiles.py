"""Runs code that uses AMX in this process, on a CPU without it: `tiles.c` executes its instructions."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from kokoro_tvm.common.cpu_features import AMX, features_of_cpu
from kokoro_tvm.native.toolchains.cc import linux_compiler
from kokoro_tvm.targets.runners import Runner

if TYPE_CHECKING:
    from kokoro_tvm.runtime.bundle.manifest import Bundle
    from kokoro_tvm.runtime.session.session import Session

__all__ = ["TILES", "emulate", "use_amx"]

_SOURCE = Path(__file__).with_name("tiles.c")
_COMPILER = linux_compiler("x86_64")
_OPTIONS = ("-O3", "-march=x86-64-v4", "-ffp-contract=off", "-fPIC", "-shared")


class Tiles(Runner):
    """This process, in which the instructions of AMX are emulated one by one; all others are the CPU's."""

    way = "with AMX emulated"
    packages = _COMPILER.packages

    def version(self) -> str:
        return f"AMX emulated, {_COMPILER.version('emulate AMX with')}"

    def facts(self) -> dict[str, Any]:
        return {"version": self.version(), "source": hashlib.sha256(_SOURCE.read_bytes()).hexdigest()}

    def session(self, bundle: Bundle, threads: int, libraries: Sequence[Path] = ()) -> Session:
        from kokoro_tvm.runtime.session.session import Session

        emulate()
        return Session(bundle, threads, emulated=AMX)


TILES = Tiles()


@cache
def emulate() -> None:
    """From here on this process executes AMX. Raises BuildError where the compiler is not installed."""
    with TemporaryDirectory(prefix="kokoro-tvm-") as folder:
        library = Path(folder, "tiles.so")
        _COMPILER.compile([_SOURCE], library, *_OPTIONS)
        loaded = ctypes.CDLL(str(library), use_errno=True)
    if loaded.emulate_tiles():
        raise OSError(ctypes.get_errno(), "the handler of illegal instructions cannot be set")


def use_amx() -> None:
    """From here on this process executes AMX, as Linux gives it or emulated. Raises OSError, BuildError."""
    from kokoro_tvm.runtime.session.cpu import request_amx

    if (features_of_cpu() or frozenset()) >= AMX:
        request_amx()
    else:
        emulate()
