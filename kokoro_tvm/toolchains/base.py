"""What a toolchain answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

__all__ = ["Toolchain"]


class Toolchain(ABC):
    """A linker."""

    command: ClassVar[str]
    """The linker's program."""
    suffix: ClassVar[str]
    """Of the files it makes, with the dot."""

    @abstractmethod
    def version(self) -> str:
        """The linker and its version, as it prints it. Raises BuildError where it is not installed."""

    @abstractmethod
    def link(self, objects: Sequence[Path], out: Path) -> None:
        """Links objects into the library `out`, whole or not at all. Their order decides its layout.

        Raises BuildError where the linker is not installed or fails.
        """

    @abstractmethod
    def check(self) -> str | None:
        """Why it cannot link a small library, with what to do about it; None where it can."""
