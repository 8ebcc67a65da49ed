"""Runner of macOS and iOS code on Linux for arm64 under QEMU, with a loader of Mach-O files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.native.libkokoro import HEADER
from kokoro_tvm.native.toolchains import macho
from kokoro_tvm.native.toolchains.archive import prefix_of
from kokoro_tvm.native.toolchains.code_signature import check_signature
from kokoro_tvm.targets.runners import Start
from kokoro_tvm.targets.runners.qemu import Qemu

if TYPE_CHECKING:
    from kokoro_tvm.runtime.bundle.manifest import Bundle

__all__ = ["Ios", "MachORunner"]


class MachORunner(Qemu):
    """QEMU for arm64 with the loader `dyld.c`. TVM's runtime, libm and the C library are Linux'."""

    sources = ("server.c", "macho/dyld.c")
    others = ("macho/dyld.h", "macho/darwin.c")

    def __init__(self, cpu: str) -> None:
        """Choose the CPU, see `Qemu`."""
        super().__init__("aarch64", cpu)

    def __str__(self) -> str:
        return f"{super().__str__()}, as macOS"

    def version(self) -> str:
        """Return the emulator's version."""
        return f"{super().version()}, as macOS"

    def refuse(self, bundle: Bundle) -> None:
        """Raise BundleError if macOS would refuse the signature of a library."""
        libraries = [library.file.path for c in bundle.components.values() for library in c.libraries]
        for path in (*libraries, *(file.path for file in bundle.libkokoro if file.path.name != HEADER)):
            try:
                check_signature(path.read_bytes())
            except ValueError as error:
                raise BundleError(f"{path} would be refused by macOS: {error}. Build it again.") from error

    def start(self, program: Path, libraries: Sequence[Path] = ()) -> Start:
        """Start a macOS program with the loader."""
        folder = TemporaryDirectory(prefix="kokoro-tvm-")
        loader = self._compile(("macho/dyld.c", "macho/darwin.c"), Path(folder.name, "darwin"), libraries)
        return Start([*self._start(loader).command, str(program)], afterwards=folder.cleanup)

    def _compiler_options(self, libraries: Sequence[Path]) -> list[str]:
        """Return the linker options of QEMU, and one that exports the loader's functions."""
        # libtvm_ffi calls dyld.c's functions, and dyld.c finds those of darwin.c by their names.
        return ["-Wl,--export-dynamic", *super()._compiler_options(libraries)]


class Ios(MachORunner):
    """Runner of archives for iOS, each linked to a library first, as an app would link it."""

    def __init__(self, cpu: str) -> None:
        """Choose the CPU, see `Qemu`."""
        super().__init__(cpu)
        self._linker = macho.MachOToolchain("ios")

    def __str__(self) -> str:
        return super().__str__().replace("macOS", "iOS")

    def version(self) -> str:
        """Return the versions of emulator and linker."""
        return f"{super().version().replace('macOS', 'iOS')}, linked by {self._linker.version()}"

    @property
    def packages(self) -> tuple[str, ...]:
        """Return Debian's packages of emulator, compiler and linker."""
        return (*super().packages, *self._linker.packages)

    def prepare(self, library: Path) -> tuple[Path, str]:
        """Link an archive to a library."""
        linked = library.with_suffix(self._linker.suffix)
        self._linker.link([library], linked)
        return linked, prefix_of(library.stem)

    def refuse(self, bundle: Bundle) -> None:
        """Accept every bundle: an archive has no signature, because an app is signed as a whole."""
