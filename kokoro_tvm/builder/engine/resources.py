"""Memory and cores of a machine, shared between the stages that run at the same time."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

__all__ = ["Budget", "Needs", "usable_memory_gb", "usable_processes"]

_MOST = 5  # beyond it, stages that compute on all cores themselves are in each other's way

_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


@dataclass(frozen=True)
class Needs:
    """Memory in GB (1e9 bytes), and cores; by default none worth counting."""

    memory_gb: float = 0.0
    cpus: float = 0.0


class Budget:
    """Memory and cores of a machine; threads take what they need and give it back.

    One that needs more than there is runs when nobody else does: waiting would not make the machine larger.
    """

    def __init__(self, whole: Needs | None = None) -> None:
        """whole: what there is; None: all memory and cores this process may use, read at first use."""
        self._given = whole
        self._running: list[Needs] = []
        self._changed = threading.Condition()

    @cached_property
    def _whole(self) -> Needs:
        # The runtime imports numpy, and a build that has nothing to do does not.
        from kokoro_tvm.runtime.threads import usable_cores

        return self._given or Needs(usable_memory_gb(), usable_cores())

    @contextmanager
    def take(self, needs: Needs) -> Iterator[None]:
        """Holds that much; waits until it is free."""
        if needs == Needs():
            yield
            return
        with self._changed:
            self._changed.wait_for(lambda: not self._running or self._fits(needs))
            self._running.append(needs)
        try:
            yield
        finally:
            with self._changed:
                self._running.remove(needs)
                self._changed.notify_all()

    def _fits(self, needs: Needs) -> bool:
        together = [*self._running, needs]
        memory, cpus = sum(n.memory_gb for n in together), sum(n.cpus for n in together)
        return memory <= self._whole.memory_gb and cpus <= self._whole.cpus


def usable_processes() -> int:
    """How many stages to run at once by default: one more than the cores of this process's CPU affinity, 5
    at most.

    One more, because the reference gives way to whatever runs beside it.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(_MOST, cores + 1)


def usable_memory_gb(limits: tuple[Path, ...] = _LIMITS) -> float:
    """The machine's memory, or what the control group allows of it, in GB (1e9 bytes); infinite if neither
    is known."""
    found = [float("inf")]
    if hasattr(os, "sysconf"):  # Linux and macOS
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for path in limits:
        if path.is_file() and (limit := path.read_text(encoding="ascii").strip()).isdigit():
            found.append(int(limit))
    return min(found) / 1e9
