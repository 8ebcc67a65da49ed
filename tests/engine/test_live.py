"""The part of a terminal that changes while a build runs."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from kokoro_tvm.engine.live import LiveView


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
