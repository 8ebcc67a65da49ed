"""What writers have in common."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.errors import InputError

__all__ = ["Floats", "Mark", "Writer", "check_place", "whole_file"]

Floats: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class Mark:
    """A chapter's title, and its first and last sample as a slice."""

    title: str
    start: int
    end: int


@dataclass(frozen=True)
class Writer:
    """check: raises InputError where the encoder is missing, and says what to install; write: path, blocks of
    float32 (samples,), sample rate, title, chapters."""

    check: Callable[[], None]
    write: Callable[[Path, Iterable[Floats], int, str, Sequence[Mark]], None]


def check_place(path: Path) -> None:
    """Raise InputError when no file can be written to `path`: it is a folder, or its folder is not there."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file to write to, such as {path / 'speech.wav'}.")
    if not path.parent.is_dir():
        raise InputError(f"The folder {path.parent} for {path.name} does not exist. Create it first.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"The folder {path.parent} for {path.name} is not writable.")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path beside `path` that takes its place when the block ends well, and is removed otherwise."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)
