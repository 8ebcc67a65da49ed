"""Runs archives for iOS: as macOS' libraries are, once each is linked as an app would be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kokoro_tvm.runners.macho import MachO
from kokoro_tvm.toolchains import macho
from kokoro_tvm.toolchains.archive import prefix_of
from kokoro_tvm.toolchains.base import problem_of

if TYPE_CHECKING:
    from kokoro_tvm.runtime.bundle.manifest import Bundle

__all__ = ["Ios"]


class Ios(MachO):
    """qemu-aarch64 with `dyld.c`, for a library that is linked of each archive."""

    def __init__(self, cpu: str) -> None:
        """cpu: see Qemu."""
        super().__init__(cpu)
        self._linker = macho.MachO("ios")

    def __str__(self) -> str:
        return super().__str__().replace("macOS", "iOS")

    def version(self) -> str:
        return f"{super().version().replace('macOS', 'iOS')}, linked by {self._linker.version()}"

    @property
    def packages(self) -> tuple[str, ...]:
        return (*super().packages, *self._linker.packages)

    def check(self) -> str | None:
        return super().check() or problem_of(self._linker.version)

    def prepare(self, library: Path) -> tuple[Path, str]:
        linked = library.with_suffix(self._linker.suffix)
        self._linker.link([library], linked)
        return linked, prefix_of(library.stem)

    def refuse(self, bundle: Bundle) -> None:
        """An archive has no signature: an app is signed as a whole."""
