"""Static archives for iOS on arm64, which an app is linked with: system libraries of TVM."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.native.toolchains import Toolchain, link_with, version_of
from kokoro_tvm.native.toolchains.lld import newest

_MODE = "qcsDL"  # a new archive with an index and without times; archives are replaced by their members


def prefix_of(name: str) -> str:
    """Return the symbol prefix of an artifact's library (`decoder-5120`), by which TVM's runtime finds it."""
    # TVM refuses a prefix of fewer than eight characters.
    return f"kokoro_{name.replace('-', '_')}_"


class Archive(Toolchain):
    """llvm-ar."""

    suffix = ".a"
    packages = ("llvm",)

    def __init__(self) -> None:
        self.command = newest("llvm-ar")

    def version(self) -> str:
        """Return program and version. Raises BuildError."""
        return f"{self.command}, {version_of(self.command, *self.packages, 'make archives for iOS with')}"

    def prefix(self, out: Path) -> str:
        """Return the symbol prefix of the library."""
        return prefix_of(out.stem)

    def link(self, objects: Sequence[Path], out: Path) -> None:
        """Collect objects in an archive."""
        # A program must be linked with all of its objects (`-force_load`): nothing refers to them, they
        # register themselves in TVM's runtime.
        link_with(self.version(), [self.command, _MODE], out, lambda path: [str(path), *map(str, objects)])

    def probe(self, folder: Path) -> None:
        """Make an archive of a small file."""
        source = folder / "probe.txt"
        source.write_text("probe", encoding="utf-8")
        self.link([source], folder / "probe.a")


ARCHIVE = Archive()
