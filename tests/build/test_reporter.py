"""What a build prints."""

from __future__ import annotations

import io
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from kokoro_tvm.build.reporter import LineReporter
from kokoro_tvm.errors import ValidationError

TASKS = {
    "cpu.export.bert-512": SimpleNamespace(name="cpu.export.bert-512", doc="export bert", task_dep=[]),
    "cpu.lower.bert-512": SimpleNamespace(
        name="cpu.lower.bert-512", doc="lower bert", task_dep=["cpu.export.bert-512"]
    ),
    "cpu": SimpleNamespace(name="cpu", doc="all", task_dep=["cpu.lower.bert-512"]),
    "mine.export.bert-64": SimpleNamespace(name="mine.export.bert-64", doc="not asked for", task_dep=[]),
}
EXPORT, LOWER, ALL = (TASKS[name] for name in ("cpu.export.bert-512", "cpu.lower.bert-512", "cpu"))


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def err() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def reporter(out: io.StringIO, err: io.StringIO) -> LineReporter:
    reporter = LineReporter(out, err)
    reporter.initialize(TASKS, ["cpu"])
    return reporter


def lines(out: io.StringIO) -> list[str]:
    """What was printed, less the times."""
    return [re.sub(r"\d+\.\d s", "_ s", line).strip() for line in out.getvalue().splitlines()]


def test_a_build(reporter: LineReporter, out: io.StringIO, err: io.StringIO) -> None:
    reporter.skip_uptodate(EXPORT)
    reporter.execute_task(LOWER)
    reporter.beat(LOWER.name)
    reporter.add_success(LOWER)
    reporter.execute_task(ALL)
    reporter.add_success(ALL)
    reporter.conclusion.append("It is there.")
    reporter.complete_run()
    assert lines(out) == [
        "_ s  [2/2]  cpu.lower.bert-512               lower bert",
        "_ s  [2/2]  cpu.lower.bert-512               still running, 0 s",
        "_ s  [2/2]  cpu.lower.bert-512               done in _ s",
        "",
        "1 stages built, 1 were current.",
        "It is there.",
    ]
    assert err.getvalue() == ""


def test_nothing_to_do(reporter: LineReporter, out: io.StringIO) -> None:
    for task in (EXPORT, LOWER):
        reporter.skip_uptodate(task)
    reporter.complete_run()
    assert out.getvalue() == "Nothing to do: all 2 stages are current.\n"


def test_failures_are_told_at_the_end_once_and_by_one_name(
    reporter: LineReporter, out: io.StringIO, err: io.StringIO
) -> None:
    reporter.execute_task(EXPORT)
    error = ValidationError("cpu.export.bert-512: it missed [bold]. Its log is /x/export.log.")
    reporter.failed(EXPORT.name, error)
    reporter.add_failure(EXPORT, type("TaskFailed", (), {"get_msg": lambda self: "what doit makes of it"})())
    reporter.add_failure(LOWER, type("UnmetDependency", (), {})())
    reporter.add_failure(ALL, type("UnmetDependency", (), {})())
    reporter.conclusion.append("It is there.")
    reporter.complete_run()
    assert lines(out)[-1] == "0 stages built, 0 were current, 1 failed, 1 not built because of that."
    assert err.getvalue() == f"\n{error}\n"
    assert reporter.failures == {"cpu.export.bert-512": error}


def test_a_fault_of_the_build_is_shown_whole(reporter: LineReporter, err: io.StringIO) -> None:
    reporter.execute_task(EXPORT)
    reporter.add_failure(EXPORT, type("TaskError", (), {"get_msg": lambda self: "Traceback\n  it"})())
    reporter.complete_run()
    assert err.getvalue() == "\ncpu.export.bert-512: Traceback\n  it\n"


def test_interrupted(reporter: LineReporter, out: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    reporter.execute_task(EXPORT)
    with pytest.raises(KeyboardInterrupt):
        try:
            raise KeyboardInterrupt
        finally:
            reporter.complete_run()
    assert lines(out)[-1].startswith("Interrupted: 0 stages built, 0 were current.")


def test_lines_of_threads_come_whole(reporter: LineReporter, out: io.StringIO) -> None:
    reporter.execute_task(EXPORT)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: reporter.beat(EXPORT.name), range(400)))
    printed = lines(out)
    assert len(printed) == 401
    assert set(printed[1:]) == {"_ s  [1/2]  cpu.export.bert-512              still running, 0 s"}


def test_long_lines_are_not_broken(reporter: LineReporter, out: io.StringIO) -> None:
    task = SimpleNamespace(name="cpu." + "x" * 100, doc="y" * 200)
    reporter.execute_task(task)
    assert len(out.getvalue().splitlines()) == 1


def test_colour_on_a_terminal_alone(
    reporter: LineReporter, out: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal()
    colourful = LineReporter(terminal, terminal)
    for each in (reporter, colourful):
        told: Any = each
        told.initialize(TASKS, ["cpu"])
        told.execute_task(EXPORT)
        told.add_success(EXPORT)
    assert "\x1b[" not in out.getvalue()
    assert "\x1b[" in terminal.getvalue()
    assert lines(out) == lines(io.StringIO(re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())))
