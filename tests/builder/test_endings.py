"""Builds with stages that crash or hang."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from test_tasks import MACHINE, stage

from kokoro_tvm.builder import tasks
from kokoro_tvm.cli.develop.build import run_tasks


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("function", "parameters", "message"),
    [
        ("die", {"signal": int(signal.SIGSEGV)}, "cpu.bad: crashed (signal SIGSEGV)."),
        ("hang", {}, "cpu.bad: did not end within 1.5 s and was stopped."),
    ],
)
def test_build_continues_after_a_crash(
    function: str,
    parameters: dict[str, Any],
    message: str,
    jobs: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    timeout = 1.5 if function == "hang" else 60
    bad = replace(stage(tmp_path, "bad", function=function, **parameters), timeout_s=timeout)
    results = [bad, stage(tmp_path, "good"), stage(tmp_path, "later", bad), stage(tmp_path, "last")]
    monkeypatch.setattr(
        tasks,
        "recipe_tasks",
        lambda *args, **options: (tasks._task(s, args[1], MACHINE) for s in results),
    )
    with pytest.raises(typer.Exit) as error:
        run_tasks([s.name for s in results], jobs, tmp_path)
    assert error.value.exit_code == 3
    out, err = capfd.readouterr()
    assert message in out + err
    assert [s.is_current() for s in results] == [False, True, False, True]
