"""What a build shows of stages that run: the last lines of their logs, and on a terminal a live view."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from kokoro_tvm.words import shown_seconds

__all__ = ["LiveView", "last_lines", "phase"]

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


@dataclass(frozen=True)
class _Running:
    since: float
    doc: str
    log: Path | None
    spinner: Spinner = field(default_factory=lambda: Spinner("dots", style="cyan"))


@dataclass
class LiveView:
    """The part of the screen that changes; rendered for every frame, possibly by another thread.

    clock: seconds, rising; `wanted`: how many stages the build is about.
    """

    wanted: int = 0
    clock: Callable[[], float] = time.monotonic
    finished: int = 0
    failed: int = 0
    _began: float = field(init=False)
    _running: dict[str, _Running] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def start(self, stage: str, doc: str, log: Path | None) -> None:
        """The stage runs from now on; what it does, its log tells, and `doc` until it does."""
        self._running[stage] = _Running(self.clock(), doc, log)

    def stop(self, stage: str) -> None:
        """The stage runs no more."""
        self._running.pop(stage, None)

    def __rich__(self) -> Group:
        now = self.clock()
        table = Table.grid(padding=(0, 1), expand=True)
        table.add_column(width=1)
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=36)
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1, style="dim")
        table.add_column(no_wrap=True, justify="right", min_width=6)
        for stage, run in list(self._running.items()):
            doing = Text.from_ansi((phase(run.log) if run.log else "") or run.doc)
            table.add_row(run.spinner, stage, doing, shown_seconds(now - run.since))
        return Group(table, self._total(now))

    def _total(self, now: float) -> Table:
        done = self.finished + self.failed
        failed = f", {self.failed} failed" if self.failed else ""
        line = Table.grid(padding=(0, 1))
        line.add_column(max_width=24)
        line.add_column(no_wrap=True, overflow="ellipsis")
        line.add_row(
            ProgressBar(total=max(1, self.wanted), completed=done),
            Text(f"{done} of {self.wanted} stages{failed}, {shown_seconds(now - self._began)}"),
        )
        return line
