"""Runner of AMX code in this process on a CPU without it: `tiles.c` emulates the instructions."""

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

_SOURCE = Path(__file__).with_name("tiles.c")
_COMPILER = linux_compiler("x86_64")
_OPTIONS = ("-O3", "-march=x86-64-v4", "-ffp-contract=off", "-fPIC", "-shared")


class Tiles(Runner):
    """This process, with the instructions of AMX emulated one by one."""

    way = "with AMX emulated"
    packages = _COMPILER.packages

    def version(self) -> str:
        """Return the version of the emulator's compiler."""
        return f"AMX emulated, {_COMPILER.version('emulate AMX with')}"

    def facts(self) -> dict[str, Any]:
        """Return the version, and the digest of the emulator's source."""
        return {"version": self.version(), "source": hashlib.sha256(_SOURCE.read_bytes()).hexdigest()}

    def session(self, bundle: Bundle, threads: int, libraries: Sequence[Path] = ()) -> Session:
        """Start the emulation and load the code in this process."""
        from kokoro_tvm.runtime.session.session import Session

        emulate()
        return Session(bundle, threads, emulated=AMX)


TILES = Tiles()


@cache
def emulate() -> None:
    """Emulate AMX in this process until it ends.

    Raises BuildError if the compiler is not installed, and OSError if the system refuses.
    """
    with TemporaryDirectory(prefix="kokoro-tvm-") as folder:
        library = Path(folder, "tiles.so")
        _COMPILER.compile([_SOURCE], library, *_OPTIONS)
        loaded = ctypes.CDLL(str(library), use_errno=True)
    if loaded.emulate_tiles():
        raise OSError(ctypes.get_errno(), "the handler of illegal instructions cannot be set")


def use_amx() -> None:
    """Let this process execute AMX, by the CPU or emulated. Raises OSError or BuildError."""
    from kokoro_tvm.runtime.session.cpu import request_amx

    if (features_of_cpu() or frozenset()) >= AMX:
        request_amx()
    else:
        emulate()
