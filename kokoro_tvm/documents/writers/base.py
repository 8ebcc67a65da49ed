"""What writers have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Mark", "Writer"]

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
