"""Toolchains: linkers of object code, one module per toolchain."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar

from kokoro_tvm.common.errors import BuildError

__all__ = ["Toolchain", "link_with", "problem_of", "version_of"]


class Toolchain(ABC):
    """A linker."""

    command: str
    """Program."""
    suffix: ClassVar[str]
    """File suffix of the output, with the dot."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Debian packages; empty if a Python package brings it."""

    @abstractmethod
    def version(self) -> str:
        """Return name and version. Raises BuildError if it is not installed."""

    def identity(self) -> str:
        """Return everything about the linker that decides about its output. Raises BuildError."""
        return self.version()

    @abstractmethod
    def link(self, objects: Sequence[Path], out: Path) -> None:
        """Link objects into the library `out`, whole or not at all. Their order decides its layout.

        Raises:
            BuildError: The linker is not installed or fails.
        """

    def prefix(self, out: Path) -> str:
        """Return the symbol prefix of a library that a program is linked with; else ""."""
        return ""

    @abstractmethod
    def probe(self, folder: Path) -> None:
        """Link a small library into a folder. Raises BuildError."""

    def check(self) -> str | None:
        """Return why it cannot link a small library and what to do about it; None if it can."""
        with tempfile.TemporaryDirectory() as folder:
            return problem_of(lambda: self.probe(Path(folder)))


def link_with(
    version: str,
    command: Sequence[str],
    out: Path,
    into: Callable[[Path], list[str]] = lambda path: ["-o", str(path)],
    check: Callable[[Path], None] = lambda path: None,
) -> None:
    """Run a linker that writes the library `out`, whole or not at all.

    Args:
        version: Name of the linker in messages.
        command: Program and arguments.
        out: The library.
        into: Returns the arguments that name the output.
        check: Checks the output before it is moved to `out`.

    Raises:
        BuildError: The linker fails or writes nothing.
    """
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".link-") as folder:
        partial = Path(folder, out.name)
        process = subprocess.run(
            [*command, *into(partial)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if process.returncode != 0:
            reason = f"exit status {process.returncode}: {process.stdout.strip()}"
            raise BuildError(f"{version} could not link {out.name}: {reason}")
        if not partial.is_file() or partial.stat().st_size == 0:
            raise BuildError(f"{version} wrote no library for {out.name}; is the disk full?")
        check(partial)
        partial.replace(out)


def problem_of(attempt: Callable[[], object]) -> str | None:
    """Return the message of the BuildError that a call raises, or None."""
    try:
        attempt()
    except BuildError as error:
        return str(error)
    return None


def version_of(command: str, package: str, purpose: str = "link with", otherwise: str = "") -> str:
    """Return the first line of `COMMAND --version`.

    Args:
        command: The program.
        package: Its Debian package.
        purpose: What the program is for, in the message.
        otherwise: What to do instead of installing it.

    Raises:
        BuildError: There is no such program.
    """
    try:
        return _print_version(shutil.which(command) or command)
    except FileNotFoundError:
        lack = f"no {command} to {purpose}"
    except (OSError, subprocess.CalledProcessError) as error:
        lack = f"no working {command} to {purpose} ({error})"
    raise BuildError(f"{lack}: apt-get install {package}{otherwise}")


@cache  # by path: another PATH may name another program
def _print_version(program: str) -> str:
    """Return the first line of `PROGRAM --version`. Raises OSError or CalledProcessError."""
    process = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return process.stdout.splitlines()[0]
