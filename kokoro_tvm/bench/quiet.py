"""Whether the machine was quiet: how many cores were busy with something that is not ours."""

from __future__ import annotations

import os
import time
from pathlib import Path

__all__ = ["Watch"]

# Of the line "cpu" in /proc/stat: what does not count as busy, that is idle and waiting for a disk.
_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_IDLE = ("idle", "iowait")


class Watch:
    """From its making on, counts what others compute; time that a hypervisor took away is theirs, too."""

    def __init__(self, stat: Path = Path("/proc/stat")) -> None:
        self._stat = stat
        self._started = time.monotonic()
        self._before = self._others_seconds()

    def others_cores(self) -> float:
        """Cores that others kept busy, on the mean; our own processes have to have ended by now."""
        elapsed = time.monotonic() - self._started
        return max(0.0, self._others_seconds() - self._before) / elapsed

    def _others_seconds(self) -> float:
        """CPU seconds of the whole machine since it started, less those of this process and its children."""
        ticks = self._stat.read_text(encoding="ascii").splitlines()[0].split()[1:]
        told = dict(zip(_FIELDS, map(int, ticks), strict=False))
        busy = sum(value for name, value in told.items() if name not in _IDLE)
        return busy / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])
