"""Shared libraries for Linux on any CPU, linked by LLVM's linker, which needs neither headers nor libraries
of it."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.errors import BuildError
from kokoro_tvm.toolchains.base import Toolchain, link_with, version_of

__all__ = ["LLD"]

_NEWEST = 40  # of LLVM's versions, whose programs Debian names ld.lld-19
_VERSION = re.compile(r"LLD \d+(?:\.\d+)*")


class Lld(Toolchain):
    """ld.lld: the one of that name on the path, else the newest of those with a version in their names."""

    suffix = ".so"

    def __init__(self) -> None:
        names = ("ld.lld", *(f"ld.lld-{version}" for version in range(_NEWEST, 0, -1)))
        self.command = next((name for name in names if shutil.which(name)), names[0])

    def version(self) -> str:
        printed = version_of(self.command, "lld")
        found = _VERSION.search(printed)
        if found is None:
            raise BuildError(f"{self.command} is no LLD, it says {printed!r}: install it (Debian: lld)")
        return found[0]

    def link(self, objects: Sequence[Path], out: Path) -> None:
        """What the code takes of libm and TVM is looked up when it is loaded, all at once: a symbol that
        is missing there has a name then, and not at the first call."""
        options = ["-shared", "--gc-sections", "-z", "now"]
        link_with(self.version(), [self.command, *options, *map(str, objects)], out)

    def check(self) -> str | None:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "probe.txt")
            source.write_text("probe", encoding="utf-8")
            command = [self.command, "-m", "elf_x86_64", "-shared", "-b", "binary", str(source)]
            try:
                link_with(self.version(), command, source.with_suffix(self.suffix))
            except BuildError as error:
                return str(error)
        return None


LLD = Lld()
