"""What the workers of a run make once, for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock


@contextmanager
def once(mark: Path) -> Iterator[bool]:
    """Whether this is the first worker to come here; the others wait until it has left without an error."""
    with FileLock(f"{mark}.lock"):
        first = not mark.exists()
        yield first
        mark.touch()
