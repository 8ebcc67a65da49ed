"""Reads the last lines of a stage's log, during the stage or after it."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["last_lines", "phase"]

_REACH = 1 << 14  # bytes; no log's last lines are longer


def last_lines(log: Path, count: int) -> list[str]:
    """Up to `count` lines from the end of a log; none if there is no log."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _REACH))
            tail = stream.read()
    except FileNotFoundError:
        return []
    return tail.decode("utf-8", errors="replace").splitlines()[-count:]


def phase(log: Path) -> str:
    """The last line of a running stage's log that is not blank; "" if there is none."""
    return next((line.strip() for line in reversed(last_lines(log, 20)) if line.strip()), "")
