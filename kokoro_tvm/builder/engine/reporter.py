"""Reporters of doit: one line per event, with the time since the build began; on a terminal, a live view."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TextIO

from doit.reporter import ConsoleReporter
from rich.console import Console, RenderableType
from rich.filesize import decimal
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TaskID, TimeElapsedColumn
from rich.progress_bar import ProgressBar
from rich.table import Column
from rich.text import Text

from kokoro_tvm.builder.engine.events import EventLog, Kind
from kokoro_tvm.builder.engine.order import in_order
from kokoro_tvm.builder.engine.resources import usable_processes
from kokoro_tvm.common.errors import BuildError, KokoroTvmError, RecipeError
from kokoro_tvm.common.invocation import localize
from kokoro_tvm.common.words import format_seconds

if TYPE_CHECKING:
    from kokoro_tvm.builder.diagnostics.forecast import Forecast


_TAIL_BYTES = 1 << 14
_FAILURE_LINES = 8
_TOTAL = ""  # row of the whole build, among those of stages
_COLORS = {"done": "green", "restored": "green", "FAILED": "bold red", "still": "dim"}


class LineReporter(ConsoleReporter):
    """Prints when stages start, end and fail, and totals; only counts stages that are up to date.

    doit calls the methods that `ConsoleReporter` has. Threads may share it.

    Attributes:
        always: Whether every stage runs (`doit -a`).
        failures: The error of every task that failed, by name.
        conclusion: Lines printed after a successful build.
        notes: Lines printed after every build.
        plan: Returns the forecast of a build of stages, by their names; None if there is none.
        workers: Number of stages that run at the same time.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        errors: TextIO | None = None,
        events: EventLog | None = None,
        quiet: bool = False,
        verbose: bool = False,
    ) -> None:
        super().__init__(stream or sys.stdout, {})
        self._out = _console(stream or sys.stdout, quiet)
        self._verbose = verbose
        self._err = _console(errors or sys.stderr)
        self._events = events
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._starts: dict[str, float] = {}
        self._selected = 0
        self._count = self._done = self._current = self._blocked = 0
        self._restored: set[str] = set()
        self.always = False
        self.failures: dict[str, Exception | str] = {}
        self.conclusion: list[str] = []
        self.notes: list[str] = []
        self.workers = usable_processes()
        self.plan: Callable[[Sequence[str]], Forecast | None] = lambda names: None
        self._names: list[str] = []
        self._ended: set[str] = set()
        self._forecast: Forecast | None = None

    def exit_status(self, status: int) -> int:
        """Return the exit status of a build: that of its first error.

        status: that of doit; 0 if nothing failed.
        """
        if status == 0:
            return 0
        first = next(iter(self.failures.values()), None)
        return first.exit_code if isinstance(first, KokoroTvmError) else BuildError.exit_code

    def record_error(self, task: str, error: Exception) -> None:
        """Keep the exception of a task, because doit does not."""
        self.failures[task] = error

    def mark_restored(self, task: str) -> None:
        """Note that the outputs of a running stage were restored, not built."""
        self._restored.add(task)

    def report_remote(self, task: str, event: str) -> None:
        """Print an event of a stage on another machine."""
        with self._lock:
            self._out.print(f"{time.monotonic() - self._began:7.1f} s  {task:<32} {event}")

    def beat(self, task: str, log: Path | None = None) -> None:
        """Report a task that still runs, with the last line of its log."""
        seconds = self._seconds_since_start(task)
        self._event("phase", stage=task, seconds=seconds, message=last_phase(log) if log else None)
        self._show_beat(task, seconds)

    def initialize(self, tasks: Any, selected_tasks: Any) -> None:
        """Count the selected stages and their dependencies."""
        order = in_order(selected_tasks, lambda name: tasks[name].task_dep)
        self._names = [name for name in order if _is_stage(name)]
        self._selected = len(self._names)
        self._event("begin", stages=self._selected, message=" ".join(selected_tasks))

    def execute_task(self, task: Any) -> None:
        """Report the start of a stage."""
        if _is_stage(task.name):
            self._starts[task.name] = time.monotonic()
            self._count += 1
            self._event("start", stage=task.name, message=task.doc, log=_log_path(task))
            if len(self._starts) == 1:  # a build with nothing to do needs no forecast
                self._forecast = self.plan(self._names)
                self._show_forecast()
            self._show_start(task)

    def add_success(self, task: Any) -> None:
        """Report a stage that was built or restored."""
        if _is_stage(task.name):
            manner: Literal["restored", "done"] = "restored" if task.name in self._restored else "done"
            self._done += manner == "done"
            self._ended.add(task.name)
            seconds = self._seconds_since_start(task.name)
            self._event(manner, stage=task.name, seconds=seconds, bytes=_size_of(task))
            self._show_done(task, manner, seconds)

    def skip_uptodate(self, task: Any) -> None:
        """Count a stage that is up to date."""
        self._count += 1
        self._current += 1
        self._ended.add(task.name)
        self._event("current", stage=task.name, bytes=_size_of(task))
        if self._verbose:
            self._print(task.name, "up to date")

    def add_failure(self, task: Any, fail: Any) -> None:
        """Report a task that failed, or that does not run because a dependency failed."""
        if type(fail).__name__ == "UnmetDependency":
            self._blocked += _is_stage(task.name)
            self._event("blocked", stage=task.name)
            return
        self._ended.add(task.name)
        error = self.failures.setdefault(task.name, fail.get_msg().strip())
        self._event(
            "failed",
            stage=task.name,
            seconds=self._seconds_since_start(task.name) if task.name in self._starts else None,
            message=str(error),
            error=type(error).__name__ if isinstance(error, Exception) else None,
            log=_log_path(task),
        )
        self._show_failure(task)

    def cleanup_error(self, exception: Any) -> None:
        """Keep an error of doit's own cleaning up."""
        self.failures["cleaning up"] = exception.get_msg()

    def runtime_error(self, msg: str) -> None:
        """Keep an error of doit itself."""
        self.failures["the build"] = msg

    def complete_run(self) -> None:
        """Print errors, totals and what comes next.

        doit calls this after an interrupt as well; the interrupt's traceback is then not printed.
        """
        self._event(
            "end",
            seconds=round(time.monotonic() - self._began, 3),
            built=self._done,
            restored=len(self._restored),
            current=self._current,
            failed=len(self.failures),
            blocked=self._blocked,
        )
        for name, error in self.failures.items():
            # Errors of recipes name their file; those of tools and of doit name nothing.
            has_name = isinstance(error, RecipeError) or name in str(error)
            self._err.print(Text(localize(f"\n{error}" if has_name else f"\n{name}: {error}"), "red"))
        restored = f"{len(self._restored)} restored, " if self._restored else ""
        built = "1 stage built" if self._done == 1 else f"{self._done} stages built"
        elapsed = format_seconds(time.monotonic() - self._began)
        totals = f"{built}, {restored}{self._current} up to date"
        if sys.exc_info()[0] is not None:
            sys.excepthook = _hide_interrupts
            lines = [f"\nInterrupted: {totals}. What was built stays. Run it again to continue."]
        elif self.failures:
            lines = [f"\n{totals}, {len(self.failures)} failed, {self._blocked} not built because of that."]
        elif self._done or self._restored:
            lines = [f"\n{totals} ({elapsed}).", *self.conclusion]
        elif not self._selected:
            lines = self.conclusion
        else:
            lines = [f"Nothing to do: all {self._current} stages are up to date.", *self.conclusion]
        for line in (*lines, *self.notes):
            self._out.print(Text(localize(line)))

    def _seconds_left(self) -> float:
        """Return how long the rest of the build takes; 0 if that is unknown."""
        if self._forecast is None:
            return 0.0
        now = time.monotonic()
        running = {name: now - start for name, start in [*self._starts.items()] if name not in self._ended}
        return self._forecast.seconds(running, self._ended)

    def _show_forecast(self) -> None:
        if seconds := self._seconds_left():
            self._out.print(f"about {format_seconds(seconds)}, as the last runs took")

    def _show_start(self, task: Any) -> None:
        self._print(task.name, task.doc)

    def _show_beat(self, task: str, seconds: float) -> None:
        self._print(task, f"still running, {seconds:.0f} s")

    def _show_done(self, task: Any, manner: str, seconds: float) -> None:
        self._print(task.name, f"{manner} in {seconds:.1f} s")

    def _show_failure(self, task: Any) -> None:
        self._print(task.name, "FAILED")

    def _seconds_since_start(self, task: str) -> float:
        """Return the seconds since a task started."""
        return round(time.monotonic() - self._starts[task], 3)

    def _event(self, event: Kind, **fields: Any) -> None:
        """Write an event. If the file cannot be written, warn once and write no more."""
        try:
            if self._events is not None:
                self._events.write(event, **fields)
        except BuildError as error:
            self._events = None
            self._err.print(Text(f"note: {error}"))

    def _print(self, task: str, event: str) -> None:
        """Print an event of a task, with the time since the build began and the number of ended stages."""
        place = f"[{self._count:>{len(str(self._selected))}}/{self._selected}]"
        elapsed = f"{time.monotonic() - self._began:7.1f} s"
        style = _COLORS.get(event.split()[0], "")
        line = Text.assemble((f"{elapsed}  {place}", "dim"), f"  {task:<32} ", (event, style))
        with self._lock:
            self._out.print(line)


class LiveReporter(LineReporter):
    """Live view on a terminal: a line for each stage that ended, and below them the stages that run.

    Each running stage shows the last line of its log.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._view = Progress(
            SpinnerColumn("dots", style="cyan"),
            _Title(_column(max_width=44)),
            _Phase(_column(ratio=1, style="dim")),
            TimeElapsedColumn(),
            console=self._out,
            expand=True,
            transient=True,
            refresh_per_second=8,
        )
        self._rows: dict[str, TaskID] = {}
        self._end = 0.0

    def complete_run(self) -> None:
        """Remove the view and print what `LineReporter` does."""
        self._view.stop()
        super().complete_run()

    def _show_start(self, task: Any) -> None:
        with self._lock:
            if not self._rows:  # not before: a build with nothing to do shows no view
                self._rows[_TOTAL] = self._view.add_task("", total=self._selected, left=self._describe_left)
                self._view.start()
            self._rows[task.name] = self._view.add_task(
                task.name, total=None, doc=task.doc, log=_log_path(task), left=lambda: ""
            )
            self._show_total()

    def _show_total(self) -> None:
        """Update the line with the numbers of stages."""
        ended, failed = self._done + len(self._restored) + self._current, len(self.failures)
        total = f"{ended + failed} of {self._selected} stages" + (f", {failed} failed" if failed else "")
        self._view.update(self._rows[_TOTAL], description=total, completed=ended + failed)
        self._end = time.monotonic() + self._seconds_left()

    def _describe_left(self) -> str:
        seconds = self._end - time.monotonic()
        return f", {format_seconds(seconds)} left" if seconds > 0 else ""

    def _show_forecast(self) -> None:
        pass  # the view does

    def _show_end(self, task: Any, event: str) -> None:
        """Remove a stage from the view, and print the event above it."""
        with self._lock:
            if task.name in self._rows:  # a task that never started may fail
                self._view.remove_task(self._rows.pop(task.name))
                self._show_total()
        self._print(task.name, event)

    def _show_beat(self, task: str, seconds: float) -> None:
        """Print nothing: the view shows the running stages."""

    def _show_done(self, task: Any, manner: str, seconds: float) -> None:
        self._show_end(task, f"{manner} in {format_seconds(seconds)}, {decimal(_size_of(task))}")

    def _show_failure(self, task: Any) -> None:
        self._show_end(task, "FAILED")
        log = _log_path(task)
        if log and (tail := last_lines(log, _FAILURE_LINES)):
            indented = "\n".join(f"{'':12}{line}" for line in tail)
            with self._lock:
                self._out.print(Text.from_ansi(indented), style="dim")


class _Title(ProgressColumn):
    """Column with the name of a running stage, or the number of stages and the time that is left."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.description}{task.fields['left']()}")


class _Phase(ProgressColumn):
    """Column with the last line of a running stage's log, its description, or the bar of the whole build."""

    def render(self, task: Task) -> RenderableType:
        """Return the bar if the total is known."""
        if task.total is not None:
            return ProgressBar(task.total, task.completed)
        log: Path | None = task.fields["log"]
        return Text.from_ansi((last_phase(log) if log else "") or task.fields["doc"])


def _column(**settings: Any) -> Column:
    """Return a column that shortens long text."""
    return Column(no_wrap=True, overflow="ellipsis", **settings)


def make_reporter(quiet: bool = False, verbose: bool = False) -> LineReporter:
    """Return the reporter for standard output: a live view on a terminal, otherwise lines.

    KOKORO_TVM_EVENTS may name a file, to which it logs events; a note says if that cannot be written.

    Args:
        quiet: Print errors only.
        verbose: Print lines, also of stages that are up to date.
    """
    events = None
    if path := os.environ.get("KOKORO_TVM_EVENTS"):
        try:
            events = EventLog(Path(path))
        except BuildError as error:
            _console(sys.stderr).print(Text(f"note: {error}"))
    is_live = _console(sys.stdout).is_interactive and not (quiet or verbose)
    return (LiveReporter if is_live else LineReporter)(events=events, quiet=quiet, verbose=verbose)


def _hide_interrupts(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """`sys.excepthook` that prints no traceback for KeyboardInterrupt."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


def _log_path(task: Any) -> Path | None:
    """Return the log of a task's stage; None for other tasks."""
    return Path(task.meta["log"]) if task.meta else None


def _size_of(task: Any) -> int:
    """Return the size of a task's outputs in bytes."""
    return sum(path.stat().st_size for path in map(Path, task.targets) if path.is_file())


def _is_stage(task: str) -> bool:
    """Return whether a task is a stage; recipes and sets are tasks that only group stages."""
    return "." in task


def _console(stream: TextIO, quiet: bool = False) -> Console:
    """Return a console without wrapping and markup; plain text if the stream is not a terminal."""
    return Console(file=stream, soft_wrap=True, highlight=False, markup=False, emoji=False, quiet=quiet)


def last_lines(log: Path, count: int) -> list[str]:
    """Return up to `count` lines from the end of a log; none if there is no log."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _TAIL_BYTES))
            tail = stream.read()
    except FileNotFoundError:
        return []
    return tail.decode("utf-8", errors="replace").splitlines()[-count:]


def last_phase(log: Path) -> str:
    """Return the last line of a running stage's log that is not blank; "" if there is none."""
    return next((line.strip() for line in reversed(last_lines(log, 20)) if line.strip()), "")
