"""Budget of memory and cores for stages that run at the same time."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_MAX_PROCESSES = 5  # most stages use all cores themselves

_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


@dataclass(frozen=True)
class Needs:
    """Memory in GB (1e9 bytes) and cores that a stage takes; by default negligible."""

    memory_gb: float = 0.0
    cpus: float = 0.0


class Budget:
    """Memory and cores of a machine, which threads reserve and release.

    A stage that needs more than the machine has runs alone.
    """

    def __init__(self, whole: Needs | None = None) -> None:
        """Create a budget. whole: its size; None: all that this process may use, determined at first use."""
        self._size = whole
        self._running: list[Needs] = []
        self._changed = threading.Condition()

    @cached_property
    def _capacity(self) -> Needs:
        """Memory and cores of the budget; by default those that this process may use."""
        # Here, because it imports numpy, which a build with nothing to do does not need.
        from kokoro_tvm.runtime.threads import usable_cores

        return self._size or Needs(usable_memory_gb(), usable_cores())

    @contextmanager
    def take(self, needs: Needs) -> Iterator[None]:
        """Wait until that much is free, and reserve it while entered."""
        if needs == Needs():
            yield
            return
        with self._changed:
            self._changed.wait_for(lambda: self.fits(needs, self._running))
            self._running.append(needs)
        try:
            yield
        finally:
            with self._changed:
                self._running.remove(needs)
                self._changed.notify_all()

    def fits(self, needs: Needs, running: Sequence[Needs]) -> bool:
        """Return whether a stage can run beside others. One without needs always can, and one alone."""
        if needs == Needs() or not running:
            return True
        together = [*running, needs]
        memory, cpus = sum(n.memory_gb for n in together), sum(n.cpus for n in together)
        return memory <= self._capacity.memory_gb and cpus <= self._capacity.cpus


def usable_processes() -> int:
    """Return how many stages run at the same time by default."""
    # One more than the cores, because the stage `reference` runs with a low priority.
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(_MAX_PROCESSES, cores + 1)


def usable_memory_gb(limits: tuple[Path, ...] = _LIMITS) -> float:
    """Return the memory that this process may use, in GB (1e9 bytes); infinity if that is unknown.

    limits: files with the limit of the control group.
    """
    amounts = [float("inf")]
    if hasattr(os, "sysconf"):  # Linux and macOS
        amounts.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for path in limits:
        if path.is_file() and (limit := path.read_text(encoding="ascii").strip()).isdigit():
            amounts.append(int(limit))
    return min(amounts) / 1e9
