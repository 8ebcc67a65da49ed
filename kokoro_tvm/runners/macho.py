"""Runs code for macOS on arm64: on Linux for that processor, under QEMU, by a loader of macOS' libraries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kokoro_tvm.errors import BundleError
from kokoro_tvm.runners.qemu import Qemu
from kokoro_tvm.toolchains.code_signature import check_signature

if TYPE_CHECKING:
    from kokoro_tvm.runtime.bundle import Bundle

__all__ = ["MachO"]


class MachO(Qemu):
    """qemu-aarch64 with `dyld.c`. TVM's runtime and libm are those of Linux."""

    sources = ("server.c", "dyld.c")

    def __init__(self, cpu: str) -> None:
        """cpu: see Qemu."""
        super().__init__("aarch64", cpu)

    def __str__(self) -> str:
        return f"{super().__str__()}, as macOS"

    def version(self) -> str:
        return f"{super().version()}, as macOS"

    def refuse(self, bundle: Bundle) -> None:
        """Raises BundleError where macOS would refuse a library for its signature."""
        for file in (library.file for c in bundle.components.values() for library in c.libraries):
            try:
                check_signature(file.path.read_bytes())
            except ValueError as error:
                raise BundleError(
                    f"{file.path} would be refused by macOS: {error}. Build it again."
                ) from error

    def start(self, program: Path) -> None:
        """dyld.c loads no programs."""

    def _options(self, libraries: Sequence[Path]) -> list[str]:
        return ["-Wl,--export-dynamic", *super()._options(libraries)]  # libtvm_ffi calls dyld.c's functions
