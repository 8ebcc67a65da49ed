"""LLVM's linker, which needs neither headers nor libraries of the machine it links for: what its kinds share,
and shared libraries for Linux."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.native.toolchains import Toolchain, link_with, version_of

__all__ = ["ELF", "IMPORTED", "Lld", "newest"]

IMPORTED = {
    "libc": ("memcpy", "memmove", "memset"),
    "libm": tuple(
        f"{name}{suffix}"
        for name in ("cos", "erf", "exp", "exp2", "fmod", "log", "log2", "pow", "sin", "tan", "tanh")
        for suffix in ("", "f")
    ),
    "tvm_ffi": ("TVMFFIErrorSetRaisedFromCStrParts",),
}
"""What compiled code may take from outside, by whose it is: for linkers that want to know where a symbol will
be found."""

_NEWEST = 40  # of LLVM's versions, whose programs Debian names ld.lld-19
_VERSION = re.compile(r"LLD \d+(?:\.\d+)*")


def newest(program: str) -> str:
    """One of LLVM's programs: the one of that name on the path, else the newest of those with a version in
    their names."""
    names = (program, *(f"{program}-{version}" for version in range(_NEWEST, 0, -1)))
    return next((name for name in names if shutil.which(name)), names[0])


class Lld(Toolchain):
    """One of LLD's programs, see `newest`."""

    program: ClassVar[str]
    packages = ("lld",)

    def __init__(self) -> None:
        self.command = newest(self.program)

    def version(self) -> str:
        printed = version_of(self.command, *self.packages)
        found = _VERSION.search(printed)
        if found is None:
            raise BuildError(f"{self.command} is no LLD, it says {printed!r}: install it (Debian: lld)")
        return found[0]


class Elf(Lld):
    """Linux."""

    program = "ld.lld"
    suffix = ".so"

    def link(self, objects: Sequence[Path], out: Path) -> None:
        """What the code takes of libm and TVM is looked up when it is loaded, all at once: a symbol that
        is missing there has a name then, and not at the first call."""
        options = ["-shared", "--gc-sections", "-z", "now"]
        link_with(self.version(), [self.command, *options, *map(str, objects)], out)

    def probe(self, folder: Path) -> None:
        source = folder / "probe.txt"
        source.write_text("probe", encoding="utf-8")
        command = [self.command, "-m", "elf_x86_64", "-shared", "-b", "binary", str(source)]
        link_with(self.version(), command, source.with_suffix(self.suffix))


ELF = Elf()
