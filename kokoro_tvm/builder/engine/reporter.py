"""Prints a build: one line per event, with the time since it began; on a terminal, a live view."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TextIO

from rich.console import Console
from rich.filesize import decimal
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from kokoro_tvm.builder.engine.events import EventLog, Kind
from kokoro_tvm.builder.engine.order import in_order
from kokoro_tvm.common.errors import BuildError, RecipeError
from kokoro_tvm.common.words import format_seconds

__all__ = ["LineReporter", "LiveReporter", "last_lines", "make_reporter", "phase"]

_REACH = 1 << 14  # bytes; no log's last lines are longer
_SHOWN = 8  # lines of the log of a stage that failed
_ALL = ""  # in the place of a stage: the row of the whole build
_COLORS = {"done": "green", "restored": "green", "FAILED": "bold red", "still": "dim"}


class LineReporter:
    """doit's reporter: prints when stages start, end and fail, and totals; current stages are only counted.

    failures: the error of every task that failed, by name; conclusion: lines printed after a good build;
    notes: lines printed after every build; events: the log of events; always: whether every stage runs, as
    with `doit -a`. Threads may share it.
    """

    def __init__(
        self, stream: TextIO | None = None, errors: TextIO | None = None, events: EventLog | None = None
    ) -> None:
        self._out = _console(stream or sys.stdout)
        self._err = _console(errors or sys.stderr)
        self._events = events
        self.always = False
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._begun: dict[str, float] = {}
        self._wanted = 0
        self._count = self._done = self._current = self._unmet = 0
        self._restored: set[str] = set()
        self.failures: dict[str, Exception | str] = {}
        self.conclusion: list[str] = []
        self.notes: list[str] = []

    def failed(self, task: str, error: Exception) -> None:
        """Keeps the exception of a stage, because doit does not."""
        self.failures[task] = error

    def restored(self, task: str) -> None:
        """The outputs of a running stage were restored, not built."""
        self._restored.add(task)

    def elsewhere(self, task: str, event: str) -> None:
        """Prints an event of a stage on another machine."""
        with self._lock:
            self._out.print(f"{time.monotonic() - self._started:7.1f} s  {task:<32} {event}")

    def beat(self, task: str, log: Path | None = None) -> None:
        """Reports a task that still runs, with the last line of its log."""
        seconds = self._seconds(task)
        self._event("phase", stage=task, seconds=seconds, message=phase(log) if log else None)
        self._show_beat(task, seconds)

    def initialize(self, tasks: Any, selected_tasks: Any) -> None:
        """Counts the selected stages and those they depend on."""
        needed = in_order(selected_tasks, lambda name: tasks[name].task_dep)
        self._wanted = sum(map(_is_stage, needed))
        self._event("begin", stages=self._wanted, message=" ".join(selected_tasks))

    def get_status(self, task: Any) -> None:
        pass

    def execute_task(self, task: Any) -> None:
        if _is_stage(task.name):
            self._begun[task.name] = time.monotonic()
            self._count += 1
            self._event("start", stage=task.name, message=task.doc, log=_log(task))
            self._show_start(task)

    def add_success(self, task: Any) -> None:
        if _is_stage(task.name):
            manner: Literal["restored", "done"] = "restored" if task.name in self._restored else "done"
            self._done += manner == "done"
            seconds = self._seconds(task.name)
            self._event(manner, stage=task.name, seconds=seconds, bytes=_size(task))
            self._show_done(task, manner, seconds)

    def skip_uptodate(self, task: Any) -> None:
        self._count += 1
        self._current += 1
        self._event("current", stage=task.name, bytes=_size(task))

    def add_failure(self, task: Any, fail: Any) -> None:
        if type(fail).__name__ == "UnmetDependency":
            self._unmet += _is_stage(task.name)
            self._event("blocked", stage=task.name)
            return
        error = self.failures.setdefault(task.name, fail.get_msg().strip())
        self._event(
            "failed",
            stage=task.name,
            seconds=self._seconds(task.name) if task.name in self._begun else None,
            message=str(error),
            error=type(error).__name__ if isinstance(error, Exception) else None,
            log=_log(task),
        )
        self._show_failure(task)

    def cleanup_error(self, exception: Any) -> None:
        self.failures["cleaning up"] = exception.get_msg()

    def runtime_error(self, msg: str) -> None:
        self.failures["the build"] = msg

    def complete_run(self) -> None:
        self._event(
            "end",
            seconds=round(time.monotonic() - self._started, 3),
            built=self._done,
            restored=len(self._restored),
            current=self._current,
            failed=len(self.failures),
            blocked=self._unmet,
        )
        for name, error in self.failures.items():
            # A recipe's errors name its file; those of tools, and doit's own messages, name nothing.
            named = isinstance(error, RecipeError) or name in str(error)
            self._err.print(Text(f"\n{error}" if named else f"\n{name}: {error}", "red"))
        restored = f"{len(self._restored)} restored, " if self._restored else ""
        built = f"{self._done} stages built, {restored}{self._current} were current"
        if sys.exc_info()[0] is not None:  # doit calls this for an interrupt, too
            sys.excepthook = _without_interrupts
            self._out.print(Text(f"\nInterrupted: {built}. What was built stays. Run it again to continue."))
        elif self.failures:
            failed = f"{len(self.failures)} failed, {self._unmet} not built because of that"
            self._out.print(Text(f"\n{built}, {failed}."))
        else:
            worked = self._done or self._restored
            done = f"\n{built}." if worked else f"Nothing to do: all {self._current} stages are current."
            for line in (done, *self.conclusion):
                self._out.print(Text(line))
        for note in self.notes:
            self._out.print(Text(note))

    def _show_start(self, task: Any) -> None:
        self._say(task.name, task.doc)

    def _show_beat(self, task: str, seconds: float) -> None:
        self._say(task, f"still running, {seconds:.0f} s")

    def _show_done(self, task: Any, manner: str, seconds: float) -> None:
        self._say(task.name, f"{manner} in {seconds:.1f} s")

    def _show_failure(self, task: Any) -> None:
        self._say(task.name, "FAILED")

    def _seconds(self, task: str) -> float:
        return round(time.monotonic() - self._begun[task], 3)

    def _event(self, event: Kind, **fields: Any) -> None:
        """Writes an event. If the file cannot be written, warns once and writes no more."""
        if self._events is None:
            return
        try:
            self._events.write(event, **fields)
        except BuildError as error:
            self._events = None
            self._err.print(Text(f"note: {error}"))

    def _say(self, task: str, event: str) -> None:
        place = f"[{self._count:>{len(str(self._wanted))}}/{self._wanted}]"
        elapsed = f"{time.monotonic() - self._started:7.1f} s"
        style = _COLORS.get(event.split()[0], "")
        line = Text.assemble((f"{elapsed}  {place}", "dim"), f"  {task:<32} ", (event, style))
        with self._lock:
            self._out.print(line)


class LiveReporter(LineReporter):
    """On a terminal: a line for every stage that ended; below, how far the build is, and the running stages,
    each with the last line of its log."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._view = Progress(
            SpinnerColumn("dots", style="cyan"),
            TextColumn("{task.description}", markup=False, table_column=_column(max_width=36)),
            _Phase(_column(ratio=1, style="dim")),
            TimeElapsedColumn(),
            console=self._out,
            expand=True,
            transient=True,
            refresh_per_second=8,
        )
        self._rows: dict[str, TaskID] = {}

    def complete_run(self) -> None:
        self._view.stop()
        super().complete_run()

    def _show_start(self, task: Any) -> None:
        with self._lock:
            if not self._rows:  # not before: a build with nothing to do shows no view
                self._rows[_ALL] = self._view.add_task("", doc="", log=None)
                self._view.start()
            self._rows[task.name] = self._view.add_task(task.name, doc=task.doc, log=_log(task))
            self._show_total()

    def _show_total(self) -> None:
        ended, failed = self._done + len(self._restored) + self._current, len(self.failures)
        total = f"{ended + failed} of {self._wanted} stages" + (f", {failed} failed" if failed else "")
        self._view.update(self._rows[_ALL], description=total)

    def _show_end(self, task: Any, event: str) -> None:
        with self._lock:
            if task.name in self._rows:  # one that never began may fail
                self._view.remove_task(self._rows.pop(task.name))
                self._show_total()
        self._say(task.name, event)

    def _show_beat(self, task: str, seconds: float) -> None:
        pass

    def _show_done(self, task: Any, manner: str, seconds: float) -> None:
        self._show_end(task, f"{manner} in {format_seconds(seconds)}, {decimal(_size(task))}")

    def _show_failure(self, task: Any) -> None:
        self._show_end(task, "FAILED")
        log = _log(task)
        tail = last_lines(log, _SHOWN) if log else []
        if tail:
            indented = "\n".join(f"{'':12}{line}" for line in tail)
            with self._lock:
                self._out.print(Text.from_ansi(indented), style="dim")


class _Phase(ProgressColumn):
    """The last line of a running stage's log; what the stage does, until it has one."""

    def render(self, task: Task) -> Text:
        log: Path | None = task.fields["log"]
        return Text.from_ansi((phase(log) if log else "") or task.fields["doc"])


def _column(**how: Any) -> Column:
    return Column(no_wrap=True, overflow="ellipsis", **how)


def make_reporter(events: EventLog | None = None) -> LineReporter:
    """The reporter for standard output: a live view on a terminal, otherwise lines.

    Without `events`, KOKORO_TVM_EVENTS may name a file for them.
    """
    named = os.environ.get("KOKORO_TVM_EVENTS")
    if events is None and named:
        try:
            events = EventLog(Path(named))
        except BuildError as error:
            _console(sys.stderr).print(Text(f"note: {error}"))
    kind = LiveReporter if _console(sys.stdout).is_interactive else LineReporter
    return kind(events=events)


def _without_interrupts(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """A sys.excepthook that prints no traceback for KeyboardInterrupt."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


def _log(task: Any) -> Path | None:
    """The log of a stage."""
    return Path(task.meta["log"]) if task.meta else None


def _size(task: Any) -> int:
    """Bytes of all its outputs."""
    return sum(path.stat().st_size for path in map(Path, task.targets) if path.is_file())


def _is_stage(task: str) -> bool:
    """Whether a task is a stage; recipes and sets are tasks that only group stages."""
    return "." in task


def _console(stream: TextIO) -> Console:
    """A console without wrapping and markup; plain text if the stream is not a terminal."""
    return Console(file=stream, soft_wrap=True, highlight=False, markup=False, emoji=False)


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
