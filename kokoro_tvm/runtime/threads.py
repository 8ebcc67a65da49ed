"""Number of compute threads, from CPU affinity and control groups."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path

from kokoro_tvm.common.errors import InputError

MOST_THREADS = 1024


def choose_threads(threads: int | None, processes: int = 1) -> int:
    """Return the number of threads of each process.

    Args:
        threads: the number; None: TVM_NUM_THREADS, else a share of the usable cores.
        processes: that share the cores.

    Raises:
        InputError: the number is below 1, above MOST_THREADS, or more than this process may start.
    """
    name = "TVM_NUM_THREADS" if threads is None else "threads"
    value = os.environ.get("TVM_NUM_THREADS") if threads is None else threads
    if value is None:
        return max(1, usable_cores() // processes)
    count = _parse_count(value, name)
    if count > usable_cores():
        _check_startable(count, name)
    return count


def usable_cores(
    proc: Path = Path("/proc/self/cgroup"),
    cgroups: Path = Path("/sys/fs/cgroup"),
    cpus: Path = Path("/sys/devices/system/cpu"),
) -> int:
    """Return the number of cores that this process may use, from affinity and control groups; at least 1.

    Affinity and quotas exist on Linux alone; elsewhere, all cores count. Tests pass other files.
    """
    # Hardware threads of one core count once, because they share its arithmetic units. A quota of 1.5 cores
    # counts as 1, because kernels wait for their slowest thread.
    if hasattr(os, "sched_getaffinity"):
        cores = _physical(os.sched_getaffinity(0), cpus)
    else:
        cores = os.cpu_count() or 1
    return max(1, min([cores, *(int(quota) for quota in _quotas(proc, cgroups))]))


def _physical(numbers: Iterable[int], cpus: Path) -> int:
    """Return the number of cores of these hardware threads."""
    cores = set()
    for number in numbers:
        siblings = cpus / f"cpu{number}" / "topology" / "thread_siblings_list"
        try:
            cores.add(siblings.read_text(encoding="ascii").strip())
        except OSError:
            cores.add(str(number))
    return len(cores)


def _quotas(proc: Path, cgroups: Path) -> list[float]:
    """Return the quotas, in cores, of the process's control groups and their parents (version 2 or 1)."""
    if not proc.is_file():
        return []
    quotas = []
    for line in proc.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root = cgroups
        elif "cpu" in controllers.split(","):
            root = cgroups / controllers
        else:
            continue
        folder = root / path.lstrip("/")
        # In a container, the path may be the host's, which is not visible: the root then holds the limits.
        for place in [folder, *folder.parents]:
            quotas += _quota(place)
            if place == root:
                break
    return quotas


def _quota(folder: Path) -> list[float]:
    version2, version1 = folder / "cpu.max", folder / "cpu.cfs_quota_us"
    if version2.is_file():
        quota, period = version2.read_text().split()
    elif version1.is_file():
        quota, period = version1.read_text().strip(), (folder / "cpu.cfs_period_us").read_text()
    else:
        return []
    return [] if quota in {"max", "-1"} else [int(quota) / int(period)]


def _parse_count(value: int | str, name: str) -> int:
    try:
        count = int(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} should be a number of threads, 1 or more, but is {value!r}.") from error
    if not 1 <= count <= MOST_THREADS:
        raise InputError(f"{name} should be a number of threads, 1 to {MOST_THREADS}, but is {count}.")
    return count


def _check_startable(count: int, name: str) -> None:
    """Start so many threads and end them, because TVM aborts the process if it cannot start one."""
    end = threading.Event()
    started: list[threading.Thread] = []
    try:
        for _ in range(count):
            thread = threading.Thread(target=end.wait, daemon=True)
            thread.start()
            started.append(thread)
    except (RuntimeError, MemoryError):
        raise InputError(
            f"{name} is {count}, but this process may start no more than {len(started)}: its memory or its "
            "number of threads is limited. Give fewer."
        ) from None
    finally:
        end.set()
        for thread in started:
            thread.join()
