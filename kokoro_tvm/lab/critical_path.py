"""What an utterance would take on more threads than this machine has, from its kernels on one thread."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kokoro_tvm.lab.launches import Launch
from kokoro_tvm.runtime.profiler import Call

__all__ = ["Loop", "Row", "Step", "fastest", "rows", "seconds_on", "steps"]


@dataclass(frozen=True)
class Loop:
    """A parallel loop: seconds on one thread; tasks of equal length."""

    seconds: float
    tasks: int

    def seconds_on(self, threads: int) -> float:
        """By list scheduling: a thread takes the next task whenever it is free."""
        return math.ceil(self.tasks / threads) * self.seconds / self.tasks


@dataclass(frozen=True)
class Step:
    """One call of a kernel: `serial` are the seconds outside of its loops."""

    component: str
    name: str
    serial: float
    loops: tuple[Loop, ...]

    def seconds_on(self, threads: int) -> float:
        return self.serial + sum(loop.seconds_on(threads) for loop in self.loops)


@dataclass(frozen=True)
class Row:
    """All calls of one kernel. `tasks`: the fewest and the most of its loops, None where it has no loop;
    seconds on one thread, and on as many as the model is for."""

    component: str
    name: str
    calls: int
    tasks: tuple[int, int] | None
    alone: float
    shared: float


def steps(calls: Iterable[Call], launches: Sequence[Launch]) -> list[Step]:
    """The calls of an utterance on one thread with the loops that began within each, without what recording
    took. A loop whose tasks are not known counts as one that cannot be shared."""
    starts = [launch.start for launch in launches]
    found = []
    for call in calls:
        inside = launches[bisect_left(starts, call.start) : bisect_left(starts, call.start + call.seconds)]
        serial = call.seconds - sum(launch.elapsed for launch in inside)
        loops = tuple(Loop(launch.seconds, launch.tasks or 1) for launch in inside)
        found.append(Step(call.component, call.name, max(0.0, serial), loops))
    return found


def fastest(runs: Sequence[Sequence[Step]]) -> list[Step]:
    """Of several equal utterances, the shortest time of every part: what disturbs a run makes it longer."""
    return [_shortest(same) for same in zip(*runs, strict=True)]


def _shortest(same: Sequence[Step]) -> Step:
    loops = tuple(
        Loop(min(loop.seconds for loop in each), each[0].tasks)
        for each in zip(*(step.loops for step in same), strict=True)
    )
    return Step(same[0].component, same[0].name, min(step.serial for step in same), loops)


def seconds_on(steps: Iterable[Step], threads: int) -> float:
    """An utterance: its calls one after the other, each shared by `threads` threads.

    Threads cost nothing to wake, and caches and memory serve all of them as they serve one.
    """
    return sum(step.seconds_on(threads) for step in steps)


def rows(steps: Iterable[Step], threads: int) -> list[Row]:
    """The kernels of an utterance, those first that take longest on `threads` threads."""
    groups: dict[tuple[str, str], list[Step]] = {}
    for step in steps:
        groups.setdefault((step.component, step.name), []).append(step)
    found = [_row(component, name, group, threads) for (component, name), group in groups.items()]
    return sorted(found, key=lambda row: -row.shared)


def _row(component: str, name: str, group: Sequence[Step], threads: int) -> Row:
    tasks = [loop.tasks for step in group for loop in step.loops]
    return Row(
        component,
        name.removeprefix(f"{component}_"),
        len(group),
        (min(tasks), max(tasks)) if tasks else None,
        seconds_on(group, 1),
        seconds_on(group, threads),
    )
