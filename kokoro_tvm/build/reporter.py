"""What a build prints: one line an event, with the time since the build began, in colour on a terminal."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

__all__ = ["LineReporter"]

_COLORS = {"done": "green", "FAILED": "bold red", "still": "dim"}


class LineReporter:
    """doit's reporter: tells what starts, what fails and how it ended; what is current is only counted.

    `failures`: the error of every task that failed, by name; `conclusion`: what is said at a good end.
    Threads may share it: lines come whole.
    """

    desc = "one line an event, with elapsed time"

    def __init__(self, stream: TextIO | None = None, errors: TextIO | None = None) -> None:
        self._out = _console(stream or sys.stdout)
        self._err = _console(errors or sys.stderr)
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._begun: dict[str, float] = {}
        self._wanted = 0
        self._count = self._done = self._current = self._unmet = 0
        self.failures: dict[str, Exception | str] = {}
        self.conclusion: list[str] = []

    def failed(self, task: str, error: Exception) -> None:
        """A stage raised; doit keeps no exceptions, so they are kept here."""
        self.failures[task] = error

    def beat(self, task: str) -> None:
        """A task still runs."""
        self._say(task, f"still running, {time.monotonic() - self._begun[task]:.0f} s")

    def initialize(self, tasks: Any, selected_tasks: Any) -> None:
        """Counts the stages that are asked for, with all that they need."""
        needed: set[str] = set()
        queue = list(selected_tasks)
        while queue:
            name = queue.pop()
            if name not in needed:
                needed.add(name)
                queue += tasks[name].task_dep
        self._wanted = sum(_is_stage(name) for name in needed)

    def get_status(self, task: Any) -> None:
        pass

    def execute_task(self, task: Any) -> None:
        if _is_stage(task.name):
            self._begun[task.name] = time.monotonic()
            self._count += 1
            self._say(task.name, task.doc)

    def add_success(self, task: Any) -> None:
        if _is_stage(task.name):
            self._done += 1
            self._say(task.name, f"done in {time.monotonic() - self._begun[task.name]:.1f} s")

    def skip_uptodate(self, task: Any) -> None:
        self._count += 1
        self._current += 1

    def skip_ignore(self, task: Any) -> None:
        self._say(task.name, "ignored")

    def add_failure(self, task: Any, fail: Any) -> None:
        if type(fail).__name__ == "UnmetDependency":
            self._unmet += _is_stage(task.name)
            return
        self.failures.setdefault(task.name, fail.get_msg().strip())
        self._say(task.name, "FAILED")

    def cleanup_error(self, exception: Any) -> None:
        self.failures["cleaning up"] = exception.get_msg()

    def runtime_error(self, msg: str) -> None:
        self.failures["the build"] = msg

    def teardown_task(self, task: Any) -> None:
        pass

    def complete_run(self) -> None:
        for name, told in self.failures.items():
            # What we raise names its stage or file itself; anything else is a fault of the build.
            self._err.print(Text(f"\n{told}" if isinstance(told, Exception) else f"\n{name}: {told}", "red"))
        built = f"{self._done} stages built, {self._current} were current"
        if sys.exc_info()[0] is not None:  # doit says goodbye on the way out, too
            sys.excepthook = _without_interrupts
            self._out.print(Text(f"\nInterrupted: {built}. What was built stays; run it again to go on."))
        elif self.failures:
            failed = f"{len(self.failures)} failed, {self._unmet} not built because of that"
            self._out.print(Text(f"\n{built}, {failed}."))
        else:
            done = f"\n{built}." if self._done else f"Nothing to do: all {self._current} stages are current."
            for told in (done, *self.conclusion):
                self._out.print(Text(told))

    def _say(self, task: str, event: str) -> None:
        place = f"[{self._count:>{len(str(self._wanted))}}/{self._wanted}]"
        elapsed = f"{time.monotonic() - self._started:7.1f} s"
        style = _COLORS.get(event.split()[0], "")
        line = Text.assemble((f"{elapsed}  {place}", "dim"), f"  {task:<32} ", (event, style))
        with self._lock:
            self._out.print(line)


def _without_interrupts(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """In place of sys.excepthook: who stops a build needs no traceback of where it was."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


def _is_stage(task: str) -> bool:
    """Recipes are tasks, too, but do nothing of their own."""
    return "." in task


def _console(stream: TextIO) -> Console:
    """Plain text where the stream is no terminal, lines never broken, nothing taken for markup."""
    return Console(file=stream, soft_wrap=True, highlight=False, markup=False, emoji=False)
