"""Output files: written atomically, through links; pipes and devices are written directly."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from kokoro_tvm.common.errors import InputError

STANDARD_OUTPUT = Path("-")


def is_stream(path: Path) -> bool:
    """Return whether a path is `-`, a pipe or a device, which cannot be replaced atomically."""
    return path == STANDARD_OUTPUT or not stat.S_ISREG(_mode(path))


def resolve_link(path: Path) -> Path:
    """Resolve a path if it is a link; its target need not exist."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def check_place(path: Path) -> None:
    """Raise InputError if `path` cannot be written: it is a folder, or its folder is missing or read-only."""
    if path == STANDARD_OUTPUT:
        return
    if stat.S_ISDIR(_mode(path)):
        raise InputError(f"{path} is a folder; name a file to write to, such as {path / 'speech.wav'}.")
    place = path if is_stream(path) else resolve_link(path).parent
    if not place.exists():
        raise InputError(f"The folder {place} for {path.name} does not exist. Create it first.")
    if not os.access(place, os.W_OK):
        what = str(path) if is_stream(path) else f"The folder {place} for {path.name}"
        raise InputError(f"{what} is not writable. Name another file.")


def check_distinct(inputs: Iterable[Path | None], outputs: Iterable[Path | None]) -> None:
    """Raise InputError if an output is also an input or another output, with links resolved."""
    others: list[tuple[Path, str]] = [(path, "read") for path in inputs if path is not None]
    for path in outputs:
        if path is None or is_stream(path):
            continue
        for other, what in others:
            if _is_same_file(path, other):
                raise InputError(f"{path} is to be written, and is {what} as {other}. Name another file.")
        others.append((path, "written"))


def _is_same_file(path: Path, other: Path) -> bool:
    """Return whether two paths are one file, or will be one when both are written."""
    if os.path.normcase(os.path.realpath(path)) == os.path.normcase(os.path.realpath(other)):
        return True
    return path.exists() and other.exists() and path.samefile(other)  # hard links, file systems without case


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces `path` if the block succeeds, and is removed otherwise.

    The bytes are copied to `path` if it is a stream. Raises InputError if `path` cannot be written.
    """
    if is_stream(path):
        from tempfile import TemporaryDirectory  # slow to import, and `import kokoro_tvm.runtime` is not

        with TemporaryDirectory() as folder:
            temporary = Path(folder) / "part"
            yield temporary
            with open_stream(path) as stream, temporary.open("rb") as content:
                shutil.copyfileobj(content, stream)
        return
    target = resolve_link(path)
    # A new name every time: a run that was killed may have left its file.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    with _translate_errors(path):
        try:
            yield temporary
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def open_stream(path: Path) -> Iterator[BinaryIO]:
    """Open a stream (see `is_stream`) to write bytes.

    Raises:
        InputError: The stream cannot be written.
        BrokenPipeError: Nobody reads standard output any more.
    """
    with _translate_errors(path):
        stream = open(1 if path == STANDARD_OUTPUT else path, "wb", closefd=path != STANDARD_OUTPUT)  # noqa: SIM115
        try:
            yield stream
            stream.flush()
        finally:
            with suppress(OSError):  # which `flush` has raised
                stream.close()


def write_text(path: Path, text: str) -> None:
    """Write a file of UTF-8 text atomically. Raises InputError if it cannot be written."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Raise an OSError as InputError, except a broken pipe of standard output."""
    name = "Standard output" if path == STANDARD_OUTPUT else path
    try:
        yield
    except OSError as error:
        if path == STANDARD_OUTPUT and isinstance(error, BrokenPipeError):
            raise  # its reader has read enough: the command ends without a message
        raise InputError(
            f"{name} cannot be written: {error.strerror or error}. Name another file."
        ) from error


def _mode(path: Path) -> int:
    """Return the file mode of a path, and that of a regular file if nothing exists there."""
    with _translate_errors(path):
        try:
            return path.stat().st_mode
        except FileNotFoundError:
            return stat.S_IFREG
