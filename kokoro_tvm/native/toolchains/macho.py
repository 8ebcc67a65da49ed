"""Libraries for macOS and iOS on arm64, linked by LLVM's linker against a stub written here: no SDK."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.native.toolchains import link_with
from kokoro_tvm.native.toolchains.code_signature import check_signature
from kokoro_tvm.native.toolchains.lld import IMPORTED, Lld

__all__ = ["MACHO", "OLDEST", "MachOToolchain"]

OLDEST = {"macos": "11.0", "ios": "14.0"}
"""Of the systems that code is for; for macOS, that of the TVM runtime's wheels."""

# What a library that is linked into a program takes of TVM besides, which a loaded one is given.
_LINKED = (
    *(f"TVMFFI{name}" for name in ("FunctionCall", "HandleInitOnce")),
    *(f"TVMFFIEnvMod{name}" for name in ("LookupFromImports", "RegisterSystemLibSymbol")),
    *(
        f"TVMBackend{name}"
        for name in ("AllocWorkspace", "FreeWorkspace", "ParallelBarrier", "ParallelLaunch")
    ),
)
_OWN = ("bzero", "memset_pattern16")  # which LLVM takes in memset's place
_SYSTEM = ["dyld_stub_binder", *(f"_{name}" for name in (*_OWN, *IMPORTED["libc"], *IMPORTED["libm"]))]

# What the C library of both has, libm in it, as text: TAPI's format "tbd", version 4.
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
    """macOS or iOS."""

    program = "ld64.lld"
    suffix = ".dylib"

    def __init__(self, system: str = "macos") -> None:
        """system: as LLVM's triples name it."""
        super().__init__()
        self._system = system

    def link(self, objects: Sequence[Path], out: Path) -> None:
        """Everything the code takes of others is known here, so that a symbol that nobody has is an error
        with its name. The library is signed "ad hoc", which a Mac with Apple's processor insists on."""
        oldest = OLDEST[self._system]
        options = ["-dylib", "-arch", "arm64", "-platform_version", self._system, oldest, oldest]
        options += ["-dead_strip"]
        # No debug information and no local symbols; fixups as opcodes, which LLD 14 has no other than.
        options += ["-adhoc_codesign", "-S", "-x", "-install_name", f"@rpath/{out.name}"]
        options += [] if self.version().startswith("LLD 14.") else ["-no_fixup_chains"]
        # Who loads it has loaded libtvm_ffi, from a place that is not known here.
        outside = IMPORTED["tvm_ffi"]
        if self._system == "ios":  # objects are in archives, whose every one is taken
            options += ["-all_load"]
            outside = (*outside, *_LINKED)
        options += [word for name in outside for word in ("-U", f"_{name}")]

        def check(path: Path) -> None:
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
        self.link([], folder / "probe.dylib")


MACHO = MachOToolchain()
