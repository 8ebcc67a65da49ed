"""The part of a terminal that changes while a build runs, and the end of a log, as the build reads it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from kokoro_tvm.engine.live import LiveView, last_lines, phase


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def view(clock: Clock) -> LiveView:
    return LiveView(wanted=31, clock=clock)


def shown(view: LiveView, width: int = 80) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, legacy_windows=False).print(view)
    lines = out.getvalue().splitlines()
    assert all(len(line) <= width for line in lines)
    return [line[2:].rstrip() for line in lines]  # a spinner may stand anywhere


def test_running_stages_and_how_far_it_is(view: LiveView, clock: Clock, tmp_path: Path) -> None:
    log = tmp_path / "compile.log"
    view.start("cpu.compile.decoder-5120", "compile it", log)
    clock.now += 65
    log.write_text("lowered; generating code\n", encoding="utf-8")
    view.start("kokoro-82m.reference", "run the stock model", tmp_path / "reference.log")
    view.finished, view.failed = 12, 1
    clock.now += 9
    assert shown(view) == [
        "cpu.compile.decoder-5120 lowered; generating code                   1 min 14 s",
        "kokoro-82m.reference     run the stock model                             9.0 s",
        "━━━━━━━━               13 of 31 stages, 1 failed, 1 min 14 s",
    ]


def test_what_has_ended_is_gone(view: LiveView) -> None:
    view.start("cpu.machine", "resolve it", None)
    view.stop("cpu.machine")
    view.stop("cpu.machine")  # a stage that never started may fail
    assert len(shown(view)) == 1


def test_a_narrow_terminal_and_long_words(view: LiveView, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("word " * 100 + "\x1b[31m[bold]", encoding="utf-8")
    view.start("portable-x86-64-v4.compile.text_encoder-512", "compile it", log)
    for width in (30, 40, 80):
        assert len(shown(view, width)) == 2


def test_nothing_asked_for(view: LiveView) -> None:
    view.wanted = 0
    assert shown(view)[-1].endswith("0 of 0 stages, 0.0 s")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "stage.log"


def test_no_log(log: Path) -> None:
    assert last_lines(log, 5) == []
    assert phase(log) == ""


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", ""),
        ("import: 1 functions\nfuse: 12 functions\n", "fuse: 12 functions"),
        ("lowered\n\n  \n", "lowered"),
        ("half a li", "half a li"),
    ],
)
def test_a_phase_is_what_was_said_last(log: Path, text: str, result: str) -> None:
    log.write_text(text, encoding="utf-8")
    assert phase(log) == result


def test_a_long_log_is_read_from_its_end(log: Path) -> None:
    """Where reading begins may be inside a character."""
    log.write_text("ɹ" * 99_999 + "\n" + "one\ntwo\nthree\n", encoding="utf-8")
    assert last_lines(log, 2) == ["two", "three"]


def test_a_log_that_is_no_text(log: Path) -> None:
    log.write_bytes(b"\xff\xfe\n")
    assert phase(log) == "��"
