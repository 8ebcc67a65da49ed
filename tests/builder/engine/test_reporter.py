"""Output of a build."""

from __future__ import annotations

import io
import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kokoro_tvm.builder.engine.events import EventLog
from kokoro_tvm.builder.engine.reporter import LineReporter, LiveReporter, make_reporter
from kokoro_tvm.common.errors import BuildError, ValidationError


def task(name: str, doc: str, *after: str, meta: dict[str, str] | None = None, targets: Any = ()) -> Any:
    """Return the part of a doit task that reporters use."""
    return SimpleNamespace(name=name, doc=doc, task_dep=list(after), meta=meta, targets=targets)


TASKS = {
    "cpu.export.bert-512": task("cpu.export.bert-512", "export bert"),
    "cpu.lower.bert-512": task("cpu.lower.bert-512", "lower bert", "cpu.export.bert-512"),
    "cpu": task("cpu", "all", "cpu.lower.bert-512"),
    "mine.export.bert-64": task("mine.export.bert-64", "not asked for"),
}
EXPORT, LOWER, ALL = (TASKS[name] for name in ("cpu.export.bert-512", "cpu.lower.bert-512", "cpu"))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


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
    """Return the printed lines without times."""
    return [timeless(line) for line in out.getvalue().splitlines()]


def timeless(line: str) -> str:
    return re.sub(r"\b\d+(\.\d)? s\b", "_ s", line).strip()


def test_reporter_prints_start_beat_end_and_totals(
    reporter: LineReporter, out: io.StringIO, err: io.StringIO
) -> None:
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
        "_ s  [2/2]  cpu.lower.bert-512               still running, _ s",
        "_ s  [2/2]  cpu.lower.bert-512               done in _ s",
        "",
        "1 stage built, 1 up to date (_ s).",
        "It is there.",
    ]
    assert err.getvalue() == ""


def test_reporter_counts_restored_stages(reporter: LineReporter, out: io.StringIO) -> None:
    reporter.skip_uptodate(EXPORT)
    reporter.execute_task(LOWER)
    reporter.mark_restored(LOWER.name)
    reporter.add_success(LOWER)
    reporter.complete_run()
    assert lines(out)[1:] == [
        "_ s  [2/2]  cpu.lower.bert-512               restored in _ s",
        "",
        "0 stages built, 1 restored, 1 up to date (_ s).",
    ]


def test_verbose_reporter_prints_stages_that_are_up_to_date(out: io.StringIO) -> None:
    reporter = LineReporter(out, verbose=True)
    reporter.initialize(TASKS, ["cpu"])
    reporter.skip_uptodate(EXPORT)
    assert lines(out) == ["_ s  [1/2]  cpu.export.bert-512              up to date"]


def test_quiet_reporter_prints_errors_only(out: io.StringIO, err: io.StringIO) -> None:
    reporter = LineReporter(out, err, quiet=True)
    reporter.initialize(TASKS, ["cpu"])
    reporter.execute_task(EXPORT)
    reporter.record_error(EXPORT.name, BuildError("It broke."))
    reporter.add_failure(EXPORT, SimpleNamespace(get_msg=lambda: ""))
    reporter.complete_run()
    assert out.getvalue() == ""
    assert err.getvalue() == "\ncpu.export.bert-512: It broke.\n"


def test_reporter_forecasts_the_build(reporter: LineReporter, out: io.StringIO) -> None:
    asked: list[Any] = []
    reporter.plan = lambda names: asked.append(names) or SimpleNamespace(seconds=lambda *state: 130.0)
    reporter.execute_task(EXPORT)
    reporter.execute_task(LOWER)
    assert asked == [["cpu.export.bert-512", "cpu.lower.bert-512"]]
    assert lines(out)[0] == "about 2 min _ s, as the last runs took"
    assert len(lines(out)) == 3


def test_reporter_says_if_nothing_runs(reporter: LineReporter, out: io.StringIO) -> None:
    for task in (EXPORT, LOWER):
        reporter.skip_uptodate(task)
    reporter.complete_run()
    assert out.getvalue() == "Nothing to do: all 2 stages are up to date.\n"


def test_reporter_prints_each_failure_once_at_the_end(
    reporter: LineReporter, out: io.StringIO, err: io.StringIO
) -> None:
    reporter.execute_task(EXPORT)
    error = ValidationError("cpu.export.bert-512: it missed [bold]. Its log is /x/export.log.")
    reporter.record_error(EXPORT.name, error)
    reporter.add_failure(EXPORT, type("TaskFailed", (), {"get_msg": lambda self: "what doit makes of it"})())
    reporter.add_failure(LOWER, type("UnmetDependency", (), {})())
    reporter.add_failure(ALL, type("UnmetDependency", (), {})())
    reporter.conclusion.append("It is there.")
    reporter.complete_run()
    assert lines(out)[-1] == "0 stages built, 0 up to date, 1 failed, 1 not built because of that."
    assert err.getvalue() == f"\n{error}\n"
    assert reporter.failures == {"cpu.export.bert-512": error}


def test_reporter_prints_the_whole_text_of_other_errors(reporter: LineReporter, err: io.StringIO) -> None:
    reporter.execute_task(EXPORT)
    reporter.add_failure(EXPORT, type("TaskError", (), {"get_msg": lambda self: "Traceback\n  it"})())
    reporter.complete_run()
    assert err.getvalue() == "\ncpu.export.bert-512: Traceback\n  it\n"


def test_reporter_prints_totals_after_an_interrupt(
    reporter: LineReporter, out: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    reporter.execute_task(EXPORT)
    with pytest.raises(KeyboardInterrupt):
        try:
            raise KeyboardInterrupt
        finally:
            reporter.complete_run()
    assert lines(out)[-1].startswith("Interrupted: 0 stages built, 0 up to date.")


def test_reporter_does_not_mix_lines_of_threads(reporter: LineReporter, out: io.StringIO) -> None:
    reporter.execute_task(EXPORT)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: reporter.beat(EXPORT.name), range(400)))
    printed = lines(out)
    assert len(printed) == 401
    assert set(printed[1:]) == {"_ s  [1/2]  cpu.export.bert-512              still running, _ s"}


def test_reporter_does_not_wrap_lines(reporter: LineReporter, out: io.StringIO) -> None:
    reporter.execute_task(task("cpu." + "x" * 100, "y" * 200))
    assert len(out.getvalue().splitlines()) == 1


def test_reporter_colors_only_on_a_terminal(
    reporter: LineReporter, out: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal()
    colourful = LineReporter(terminal, terminal)
    for item in (reporter, colourful):
        result: Any = item
        result.initialize(TASKS, ["cpu"])
        result.execute_task(EXPORT)
        result.add_success(EXPORT)
    assert "\x1b[" not in out.getvalue()
    assert "\x1b[" in terminal.getvalue()
    assert lines(out) == lines(io.StringIO(re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())))


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    return Terminal()


def test_live_view_prints_a_line_for_each_ended_stage(terminal: Terminal, tmp_path: Path) -> None:
    log, result = tmp_path / "lower.log", tmp_path / "module.py"
    log.write_text("".join(f"line {n}\n" for n in range(20)), encoding="utf-8")
    result.write_bytes(b"x" * 1500)
    reporter = LiveReporter(terminal, terminal)
    tasks = {
        "cpu.export.bert-512": task("cpu.export.bert-512", "export bert", targets=[str(result)]),
        "cpu.lower.bert-512": task("cpu.lower.bert-512", "lower bert", meta={"log": str(log)}),
    }
    export, lower = tasks.values()
    reporter.initialize(tasks, list(tasks))
    for item in (export, lower):
        reporter.execute_task(item)
    reporter.beat(lower.name, log)
    reporter.add_success(export)
    reporter.record_error(lower.name, BuildError("cpu.lower.bert-512: it broke."))
    reporter.add_failure(lower, SimpleNamespace(get_msg=lambda: ""))
    reporter.complete_run()
    printed = terminal.getvalue()
    assert "line 19 " in printed  # the phase, while it ran
    kept = [timeless(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line)) for line in printed.splitlines()]
    assert [line for line in kept if " cpu.export.bert-512  " in line][-1] == (
        "_ s  [2/2]  cpu.export.bert-512              done in _ s, 1.5 kB"
    )
    assert any(line.endswith("[2/2]  cpu.lower.bert-512               FAILED") for line in kept)
    start = kept.index("line 12")
    assert kept[start : start + 8] == [f"line {n}" for n in range(12, 20)]
    assert "line 11" not in kept
    assert kept[-1] == "1 stage built, 0 up to date, 1 failed, 0 not built because of that."
    assert printed.count("\x1b[?25l") == printed.count("\x1b[?25h") == 1, (
        "the cursor is hidden and comes back"
    )


def test_live_view_is_absent_if_nothing_runs(terminal: Terminal) -> None:
    reporter = LiveReporter(terminal, terminal)
    reporter.initialize(TASKS, ["cpu"])
    for item in (EXPORT, LOWER):
        reporter.skip_uptodate(item)
    reporter.complete_run()
    assert terminal.getvalue() == "Nothing to do: all 2 stages are up to date.\n"


def test_make_reporter_needs_a_capable_terminal_for_a_live_view(
    terminal: Terminal, out: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", terminal)
    assert type(make_reporter()) is LiveReporter
    monkeypatch.setenv("TERM", "dumb")
    assert type(make_reporter()) is LineReporter
    monkeypatch.setattr(sys, "stdout", out)
    assert type(make_reporter()) is LineReporter


def events(path: Path) -> list[dict[str, Any]]:
    """Return the events of a file, without time and process."""
    result = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [{k: v for k, v in e.items() if k not in ("time", "pid", "seconds")} for e in result]


def test_reporter_writes_events(
    out: io.StringIO, err: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOKORO_TVM_EVENTS", str(tmp_path / "events.jsonl"))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    reporter = make_reporter()
    result, log = tmp_path / "program.pt2", tmp_path / "lower.log"
    result.write_bytes(b"12345")
    log.write_text("fuse: 12 functions\n", encoding="utf-8")
    tasks = {
        "cpu.export.bert-512": task("cpu.export.bert-512", "export bert", targets=[str(result)]),
        "cpu.lower.bert-512": task(
            "cpu.lower.bert-512", "lower bert", "cpu.export.bert-512", meta={"log": str(log)}
        ),
        "cpu.speak": task("cpu.speak", "say hello", "cpu.lower.bert-512"),
    }
    export, lower, speak = tasks.values()
    reporter.initialize(tasks, ["cpu.speak"])
    reporter.skip_uptodate(export)
    reporter.execute_task(lower)
    reporter.beat(lower.name, log)
    reporter.record_error(lower.name, ValidationError("It missed."))
    reporter.add_failure(lower, SimpleNamespace(get_msg=lambda: ""))
    reporter.add_failure(speak, type("UnmetDependency", (), {})())
    reporter.complete_run()
    name = "cpu.lower.bert-512"
    assert events(tmp_path / "events.jsonl") == [
        {"event": "begin", "stages": 3, "message": "cpu.speak"},
        {"event": "current", "stage": "cpu.export.bert-512", "bytes": 5},
        {"event": "start", "stage": name, "message": "lower bert", "log": str(log)},
        {"event": "phase", "stage": name, "message": "fuse: 12 functions"},
        {
            "event": "failed",
            "stage": name,
            "message": "It missed.",
            "error": "ValidationError",
            "log": str(log),
        },
        {"event": "blocked", "stage": "cpu.speak"},
        {"event": "end", "built": 0, "restored": 0, "current": 1, "failed": 1, "blocked": 1},
    ]


def test_make_reporter_warns_of_an_unusable_events_file(
    out: io.StringIO, err: io.StringIO, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KOKORO_TVM_EVENTS", str(tmp_path))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    reporter = make_reporter()
    reporter.initialize(TASKS, ["cpu"])
    for item in (EXPORT, LOWER):
        reporter.skip_uptodate(item)
    reporter.complete_run()
    assert out.getvalue() == "Nothing to do: all 2 stages are up to date.\n"
    assert err.getvalue() == (
        f"note: the events of the build cannot be written to {tmp_path}: Is a directory; "
        "name a file that can be written (--events, or KOKORO_TVM_EVENTS), or none.\n"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_reporter_warns_once_if_events_fill_the_disk(out: io.StringIO, err: io.StringIO) -> None:
    reporter = LineReporter(out, err, EventLog(Path("/dev/full")))
    reporter.initialize(TASKS, ["cpu"])
    reporter.execute_task(EXPORT)
    reporter.add_success(EXPORT)
    reporter.complete_run()
    assert err.getvalue().count("note: ") == 1
    assert "No space left on device" in err.getvalue()
