"""What makes loadable files of object code: what a toolchain answers, and one module a toolchain."""

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
    """The linker's program."""
    suffix: ClassVar[str]
    """Of the files it makes, with the dot."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Debian's, that it is in; none where one of Python has it."""

    @abstractmethod
    def version(self) -> str:
        """The linker and its version, as it prints it. Raises BuildError where it is not installed."""

    def identity(self) -> str:
        """Everything about it that decides about what it makes: its version, and that of a program it calls.
        Raises BuildError where it is not installed."""
        return self.version()

    @abstractmethod
    def link(self, objects: Sequence[Path], out: Path) -> None:
        """Links objects into the library `out`, whole or not at all. Their order decides its layout.

        Raises BuildError where the linker is not installed or fails.
        """

    def prefix(self, out: Path) -> str:
        """Of the symbols of a library that is linked into a program; empty for one that is loaded."""
        return ""

    @abstractmethod
    def probe(self, folder: Path) -> None:
        """Links a small library into a folder. Raises BuildError."""

    def check(self) -> str | None:
        """Why it cannot link a small library, with what to do about it; None where it can."""
        with tempfile.TemporaryDirectory() as folder:
            return problem_of(lambda: self.probe(Path(folder)))


def link_with(
    version: str,
    command: Sequence[str],
    out: Path,
    into: Callable[[Path], list[str]] = lambda path: ["-o", str(path)],
    check: Callable[[Path], None] = lambda path: None,
) -> None:
    """Runs a linker, which writes the library `out` whole or not at all.

    version: its name in messages; into: the words that tell it where to write; check: looks at what it
    wrote. Raises BuildError where it fails or writes nothing, and what the check raises.
    """
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".link-") as folder:
        partial = Path(folder, out.name)
        done = subprocess.run(
            [*command, *into(partial)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if done.returncode != 0:
            reason = f"exit status {done.returncode}: {done.stdout.strip()}"
            raise BuildError(f"{version} could not link {out.name}: {reason}")
        if not partial.is_file() or partial.stat().st_size == 0:
            raise BuildError(f"{version} wrote no library for {out.name}; is the disk full?")
        check(partial)
        partial.replace(out)


def problem_of(attempt: Callable[[], object]) -> str | None:
    """The message of the BuildError that a call raises; None where it raises none."""
    try:
        attempt()
    except BuildError as error:
        return str(error)
    return None


def version_of(command: str, package: str, purpose: str = "link with", otherwise: str = "") -> str:
    """The first line a program's `--version` prints. Raises BuildError where there is none; package:
    Debian's; otherwise: what to do instead of installing it."""
    try:
        return _first_line(shutil.which(command) or command)
    except (OSError, subprocess.CalledProcessError) as error:
        install = f"install it (Debian: apt-get install {package}){otherwise}"
        raise BuildError(f"no working {command} to {purpose} ({error}): {install}") from error


@cache  # by its place: another PATH may find another program
def _first_line(program: str) -> str:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0]
