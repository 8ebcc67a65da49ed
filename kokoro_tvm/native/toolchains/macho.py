"""Libraries for macOS and iOS on arm64, linked by LLVM's linker with a generated stub instead of an SDK."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.native.toolchains import link_with
from kokoro_tvm.native.toolchains.code_signature import check_signature
from kokoro_tvm.native.toolchains.lld import IMPORTED, Lld

OLDEST = {"macos": "11.0", "ios": "14.0"}
"""Oldest system version that code is for; for macOS, that of the TVM runtime's wheels."""

# More functions of TVM that a library imports if a program is linked with it. A loaded library gets pointers.
_LINKED = (
    *(f"TVMFFI{name}" for name in ("FunctionCall", "HandleInitOnce")),
    *(f"TVMFFIEnvMod{name}" for name in ("LookupFromImports", "RegisterSystemLibSymbol")),
    *(
        f"TVMBackend{name}"
        for name in ("AllocWorkspace", "FreeWorkspace", "ParallelBarrier", "ParallelLaunch")
    ),
)
_OWN = ("bzero", "memset_pattern16")  # LLVM calls them instead of memset
_SYSTEM = ["dyld_stub_binder", *(f"_{name}" for name in (*_OWN, *IMPORTED["libc"], *IMPORTED["libm"]))]

# Exports of the C library of both systems, libm included, in TAPI's format "tbd", version 4.
_STUB = f"""--- !tapi-tbd
tbd-version: 4
targets: [ arm64-macos, arm64-ios ]
install-name: /usr/lib/libSystem.B.dylib
exports:
  - targets: [ arm64-macos, arm64-ios ]
    symbols: [ {", ".join(_SYSTEM)} ]
...
"""


class MachOToolchain(Lld):
    """The linker for macOS or iOS."""

    program = "ld64.lld"
    suffix = ".dylib"

    def __init__(self, system: str = "macos") -> None:
        """Choose the system, as LLVM's triples name it."""
        super().__init__()
        self._system = system

    def link(self, objects: Sequence[Path], out: Path) -> None:
        """Link objects to a library with an ad-hoc signature."""
        # Every function that the code imports is listed, so that the linker names an unknown symbol. Apple's
        # processors load no library without a signature, if only an ad-hoc one.
        oldest = OLDEST[self._system]
        options = ["-dylib", "-arch", "arm64", "-platform_version", self._system, oldest, oldest]
        options += ["-dead_strip"]
        # No debug information, no local symbols. Fixups are opcodes, the only kind that LLD 14 writes.
        options += ["-adhoc_codesign", "-S", "-x", "-install_name", f"@rpath/{out.name}"]
        options += [] if self.version().startswith("LLD 14.") else ["-no_fixup_chains"]
        # The process has loaded libtvm_ffi from a place that is unknown here.
        outside = IMPORTED["tvm_ffi"]
        if self._system == "ios":  # archives, all of whose objects are linked
            options += ["-all_load"]
            outside = (*outside, *_LINKED)
        options += [word for name in outside for word in ("-U", f"_{name}")]

        def check(path: Path) -> None:
            """Raise BuildError if the library's signature is invalid."""
            try:
                check_signature(path.read_bytes())
            except ValueError as error:
                raise BuildError(f"{self.version()} linked {out.name} wrongly: {error}") from error

        with tempfile.TemporaryDirectory(prefix="kokoro-tvm-") as folder:
            stub = Path(folder, "libSystem.tbd")
            stub.write_text(_STUB, encoding="utf-8")
            command = [self.command, *options, *map(str, objects), str(stub)]
            link_with(self.version(), command, out, check=check)

    def probe(self, folder: Path) -> None:
        """Link an empty library."""
        self.link([], folder / "probe.dylib")


MACHO = MachOToolchain()
