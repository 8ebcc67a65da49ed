"""What a build prints: one plain line an event, with the time since the build began."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, ClassVar, TextIO

__all__ = ["LineReporter", "say"]

_STARTED = time.monotonic()
_LOCK = threading.Lock()


def say(task: str, event: str, stream: TextIO | None = None) -> None:
    """Prints one line at once, whole, also when several tasks run side by side."""
    line = f"{time.monotonic() - _STARTED:7.1f} s  {task:<32} {event}"
    with _LOCK:
        print(line, file=stream or sys.__stdout__, flush=True)


class LineReporter:
    """doit's reporter: tells what starts, what fails and how it ended; what is current is counted, not listed."""

    desc = "one line an event, with elapsed time"
    conclusion: ClassVar[list[str]] = []

    def __init__(self, outstream: TextIO, options: dict[str, Any]) -> None:
        self._stream = outstream
        self._done = self._current = self._unmet = 0
        self._failures: list[tuple[str, str]] = []
        self._errors: list[str] = []

    def initialize(self, tasks: Any, selected_tasks: Any) -> None:
        pass

    def get_status(self, task: Any) -> None:
        pass

    def execute_task(self, task: Any) -> None:
        if not self._is_recipe(task):
            say(task.name, task.doc)

    def add_success(self, task: Any) -> None:
        if not self._is_recipe(task):
            self._done += 1

    def skip_uptodate(self, task: Any) -> None:
        self._current += 1

    def skip_ignore(self, task: Any) -> None:
        say(task.name, "ignored")

    def add_failure(self, task: Any, fail: Any) -> None:
        if type(fail).__name__ == "UnmetDependency":
            self._unmet += not self._is_recipe(task)
            return
        # A stage that failed says why; anything else is a fault of the build, and is shown whole.
        told = str(fail.message) if type(fail).__name__ == "TaskFailed" else fail.get_msg()
        self._failures.append((task.name, told))
        say(task.name, "FAILED")

    def cleanup_error(self, exception: Any) -> None:
        self._errors.append(str(exception))

    def runtime_error(self, msg: str) -> None:
        self._errors.append(msg)

    def teardown_task(self, task: Any) -> None:
        pass

    def complete_run(self) -> None:
        for name, told in self._failures:
            print(f"\n{told}" if told.startswith(name) else f"\n{name} failed: {told}", file=sys.__stderr__, flush=True)
        for told in self._errors:
            print(f"\n{told}", file=sys.__stderr__, flush=True)
        if self._failures:
            built = f"{self._done} stages built, {self._current} current"
            print(f"\n{built}, {len(self._failures)} failed, {self._unmet} not built because of that.", flush=True)
        if not self._failures and not self._errors:
            if self._done == 0:
                print(f"Nothing to do: all {self._current} stages are current.", flush=True)
            else:
                print(f"\n{self._done} stages built, {self._current} were current.", flush=True)
            for told in self.conclusion:
                print(told, flush=True)

    @staticmethod
    def _is_recipe(task: Any) -> bool:
        return "." not in task.name
