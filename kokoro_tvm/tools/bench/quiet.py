"""Measures how many cores other processes keep busy."""

from __future__ import annotations

import os
import time
from pathlib import Path

__all__ = ["Watch"]

# Of the line "cpu" in /proc/stat: what does not count as busy, that is idle and waiting for a disk.
_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_IDLE = ("idle", "iowait")


class Watch:
    """Counts what others compute from its making on; time that a hypervisor took away is theirs, too.

    Only Linux tells (/proc/stat); elsewhere nothing is known.
    """

    def __init__(self, stat: Path = Path("/proc/stat")) -> None:
        self._stat = stat
        self._started = time.monotonic()
        self._before = self._others_seconds()

    def others_cores(self) -> float | None:
        """Cores that others kept busy, on the mean, or None; our own processes have to have ended by now."""
        before, now = self._before, self._others_seconds()
        if before is None or now is None:
            return None
        return max(0.0, now - before) / (time.monotonic() - self._started)

    def _others_seconds(self) -> float | None:
        """CPU seconds of the whole machine since it started, less those of this process and its children."""
        if not self._stat.is_file():
            return None
        ticks = self._stat.read_text(encoding="ascii").splitlines()[0].split()[1:]
        spent = dict(zip(_FIELDS, map(int, ticks), strict=False))
        busy = sum(value for name, value in spent.items() if name not in _IDLE)
        return busy / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])
