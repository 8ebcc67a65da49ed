"""LLVM's linker, which needs no headers and no libraries of the target."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.native.toolchains import Toolchain, link_with, version_of

IMPORTED = {
    "libc": ("memcpy", "memmove", "memset"),
    "libm": tuple(
        f"{name}{suffix}"
        for name in ("cos", "erf", "exp", "exp2", "fmod", "log", "log2", "pow", "sin", "tan", "tanh")
        for suffix in ("", "f")
    ),
    "tvm_ffi": ("TVMFFIErrorSetRaisedFromCStrParts",),
}
"""Functions that compiled code may import, by library."""

_NEWEST = 40  # LLVM version; Debian names programs like ld.lld-19
_VERSION = re.compile(r"LLD \d+(?:\.\d+)*")


def newest(program: str) -> str:
    """Return the program of LLVM on the path, or the newest with a version in its name."""
    names = (program, *(f"{program}-{version}" for version in range(_NEWEST, 0, -1)))
    return next((name for name in names if shutil.which(name)), names[0])


class Lld(Toolchain):
    """A program of LLD."""

    program: ClassVar[str]
    packages = ("lld",)

    def __init__(self) -> None:
        self.command = newest(self.program)

    def version(self) -> str:
        """Return LLD's version. Raises BuildError if it is not installed or not LLD."""
        output = version_of(self.command, *self.packages)
        match = _VERSION.search(output)
        if match is None:
            raise BuildError(f"{self.command} is no LLD, it says {output!r}: install it (Debian: lld)")
        return match[0]


class Elf(Lld):
    """The linker for Linux."""

    program = "ld.lld"
    suffix = ".so"

    def link(self, objects: Sequence[Path], out: Path) -> None:
        """Link objects to a shared library."""
        # "now": a missing symbol of libm or TVM is reported when the library is loaded, not at a call.
        options = ["-shared", "--gc-sections", "-z", "now"]
        link_with(self.version(), [self.command, *options, *map(str, objects)], out)

    def probe(self, folder: Path) -> None:
        """Link a small file for x86-64."""
        source = folder / "probe.txt"
        source.write_text("probe", encoding="utf-8")
        command = [self.command, "-m", "elf_x86_64", "-shared", "-b", "binary", str(source)]
        link_with(self.version(), command, source.with_suffix(self.suffix))


ELF = Elf()
