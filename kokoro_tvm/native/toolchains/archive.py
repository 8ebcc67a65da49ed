"""Static archives for iOS on arm64, which an app is linked with: TVM's system libraries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.native.toolchains import Toolchain, link_with, version_of
from kokoro_tvm.native.toolchains.lld import newest

__all__ = ["ARCHIVE", "prefix_of"]

_WAY = "qcsDL"  # a new archive with an index and without times; of archives their members


def prefix_of(name: str) -> str:
    """What the symbols of an artifact's library begin with (`decoder-5120`), and what TVM's runtime finds it
    by. It refuses one of fewer than eight characters."""
    return f"kokoro_{name.replace('-', '_')}_"


class Archive(Toolchain):
    """llvm-ar."""

    suffix = ".a"
    packages = ("llvm",)

    def __init__(self) -> None:
        self.command = newest("llvm-ar")

    def version(self) -> str:
        return f"{self.command}, {version_of(self.command, *self.packages, 'make archives for iOS with')}"

    def prefix(self, out: Path) -> str:
        return prefix_of(out.stem)

    def link(self, objects: Sequence[Path], out: Path) -> None:
        """A program that is linked with it must take all of its objects (`-force_load`), because they make
        themselves known to TVM's runtime, and nobody refers to them."""
        link_with(self.version(), [self.command, _WAY], out, lambda path: [str(path), *map(str, objects)])

    def probe(self, folder: Path) -> None:
        source = folder / "probe.txt"
        source.write_text("probe", encoding="utf-8")
        self.link([source], folder / "probe.a")


ARCHIVE = Archive()
