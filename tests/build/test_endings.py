"""Stages whose process crashes, wants more memory than there is, or hangs: told as such, and others go on."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
import typer

from kokoro_tvm.build import tasks
from kokoro_tvm.build.resources import Budget, Needs
from kokoro_tvm.build.stage import Stage
from kokoro_tvm.build.store import Store
from kokoro_tvm.cli.build import run_tasks

MACHINE = Budget(Needs(memory_gb=8, cpus=4))


def stage(
    folder: Path, name: str, *after: Stage, function: str = "write", arguments: dict[str, Any] | None = None
) -> Stage:
    return Stage(
        name=f"cpu.{name}",
        doc=f"write {name}",
        store=Store(folder / ".store"),
        folder=folder / "seen",
        work=folder / f"{name}-work",
        function=function,
        arguments=lambda out: {"path": str(out / name), "text": name} if arguments is None else arguments,
        outputs=(name,),
        ingredients=lambda: {"name": name},
        after=after,
        timeout_s=1.5 if function == "hang" else 60,
    )


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("function", "arguments", "told"),
    [
        ("die", {"signal": int(signal.SIGSEGV)}, "cpu.bad: crashed (signal SIGSEGV)."),
        (
            "die",
            {"signal": int(signal.SIGKILL)},
            "cpu.bad: was killed (signal SIGKILL), as the system does for",
        ),
        ("devour", {}, "cpu.bad: ran out of memory."),
        ("hang", {"path": "pids"}, "cpu.bad: did not end within 1.5 s and was stopped."),
    ],
)
@pytest.mark.usefixtures("fake_stages")
def test_it_is_told_and_others_go_on_and_the_status_is_3(
    function: str,
    arguments: dict[str, Any],
    told: str,
    jobs: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    if "path" in arguments:
        arguments = {"path": str(tmp_path / arguments["path"])}
    bad = stage(tmp_path, "bad", function=function, arguments=arguments)
    made = [bad, stage(tmp_path, "good"), stage(tmp_path, "later", bad), stage(tmp_path, "last")]
    monkeypatch.setattr(
        tasks, "recipe_tasks", lambda *given: (tasks._task(s, given[2], MACHINE) for s in made)
    )
    with pytest.raises(typer.Exit) as ended:
        run_tasks([s.name for s in made], jobs, tmp_path)
    assert ended.value.exit_code == 3
    out, err = capfd.readouterr()
    assert told in out + err
    assert sorted(p.name for p in (tmp_path / "seen").iterdir()) == ["good", "last"]
    assert {record.stage for record in bad.store.records()} == {"cpu.good", "cpu.last"}
