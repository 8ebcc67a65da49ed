"""Measure how many cores other processes keep busy."""

from __future__ import annotations

import os
import time

import psutil


class CpuWatch:
    """Counts the CPU time of other processes from its construction on, including stolen time."""

    def __init__(self) -> None:
        self._start_s = time.monotonic()
        self._before_s = _others_seconds()

    def others_cores(self) -> float:
        """Return the mean number of cores that others kept busy; our own child processes must have ended."""
        return max(0.0, _others_seconds() - self._before_s) / (time.monotonic() - self._start_s)


def _others_seconds() -> float:
    """Return the CPU seconds of the machine without those of this process and its children."""
    times = psutil.cpu_times()._asdict()
    # Linux counts the time of guests in user and nice, too.
    not_busy = sum(times.get(name, 0.0) for name in ("idle", "iowait", "guest", "guest_nice"))
    return sum(times.values()) - not_busy - sum(os.times()[:4])
