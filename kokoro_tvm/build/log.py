"""The log of a stage, as others read it: its last lines, while it is being written or after."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["last_lines", "phase"]

_REACH = 1 << 14  # bytes; no log's last lines are longer


def last_lines(log: Path, count: int) -> list[str]:
    """Up to `count` lines from the end of a log; none where there is no log."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _REACH))
            told = stream.read()
    except FileNotFoundError:
        return []
    return told.decode("utf-8", errors="replace").splitlines()[-count:]


def phase(log: Path) -> str:
    """What a running stage does: the last thing it said; empty while it has said nothing."""
    return next((line.strip() for line in reversed(last_lines(log, 20)) if line.strip()), "")
