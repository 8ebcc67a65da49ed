"""doit's commands, as pyproject.toml declares them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from doit.cmd_base import ModuleTaskLoader
from doit.doit_cmd import DoitMain
from made_stages import stage_in

from kokoro_tvm.builder.engine.reporter import LineReporter
from kokoro_tvm.builder.engine.resources import Budget, Needs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.tasks import _task, doit_config

REPOSITORY = Path(__file__).parents[2]
SETTINGS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
COMMANDS = SETTINGS["tool"]["doit"]["plugins"]["command"]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    folder = tmp_path / "artifacts"
    return stage_in(
        folder,
        "speak",
        "write",
        folder=folder,
        outputs=("hello.txt",),
        parameters={"file": "hello.txt", "text": "hello"},
    )


def run(stage: Stage, *words: str) -> int:
    """Run `doit WORDS` with the stage as the only task, and return the exit status."""
    reporter = LineReporter()
    budget = Budget(Needs(memory_gb=8, cpus=4))
    namespace = {
        "DOIT_CONFIG": doit_config(reporter) | {"default_tasks": None},
        "task_all": lambda: (_task(item, reporter, budget) for item in [stage]),
    }
    loader = ModuleTaskLoader(namespace)
    return int(DoitMain(loader, (), extra_config={"COMMAND": COMMANDS}).run(list(words)) or 0)


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (("forget", "cpu.speak"), "kokoro-tvm build --force STAGE`"),
        (("ignore", "cpu.speak"), "doit STAGE ...`"),
        (("dumpdb",), "kokoro-tvm status`"),
        (("reset-dep",), "kokoro-tvm status`"),
        (("strace", "cpu.speak"), "kokoro-tvm explain STAGE`"),
        (("run", "-P", "process"), "leave -P out"),
        (("-P", "process"), "leave -P out"),
        (("run", "-r", "json"), "kokoro-tvm build --events FILE`"),
        (("run", "-o", "log.txt"), "doit > FILE`"),
        (("clean", "--forget"), "kokoro-tvm build --force STAGE`"),
    ],
)
def test_refused_command_names_the_remedy(
    stage: Stage,
    words: tuple[str, ...],
    remedy: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(stage, *words) == 3
    error = capsys.readouterr().err
    assert error.startswith("ERROR: ")
    assert error.rstrip().endswith(remedy)
    assert "Traceback" not in error
    assert not stage.path("hello.txt").exists()


@pytest.mark.parametrize("spelling", ["artifacts/hello.txt", "./artifacts/../artifacts/hello.txt", "{root}"])
def test_run_accepts_paths_of_outputs(
    stage: Stage, spelling: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(stage, spelling.format(root=tmp_path / "artifacts/hello.txt")) == 0
    assert stage.path("hello.txt").read_text() == "hello"


def test_run_rejects_a_file_that_no_stage_writes(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(stage, "artifacts/none.wav") == 2
    assert "artifacts/none.wav" in capsys.readouterr().err


def test_clean_removes_outputs(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(stage, "run") == 0
    assert run(stage, "clean", "-n") == 0
    assert stage.path("hello.txt").exists()
    assert run(stage, "clean") == 0
    assert not stage.path("hello.txt").exists()
    output = capsys.readouterr().out
    assert f"cpu.speak - removing file '{stage.path('hello.txt')}'" in output
    assert "The store keeps what was removed" in output
    assert run(stage, "run") == 0
    assert "1 restored" in capsys.readouterr().out
    assert stage.path("hello.txt").read_text() == "hello"


def test_info_names_the_command_that_explains(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(stage, "info", "cpu.speak") == 1
    output = capsys.readouterr().out
    assert "kokoro-tvm explain TASK` says why" in output
    assert str(stage.path("hello.txt")) in output
    assert "<" not in output, "no representations of objects"
    assert run(stage, "info", "cpu.spaek") == 3
    assert "Traceback" not in capsys.readouterr().err


def test_docs_list_every_command_of_doit() -> None:
    page = (REPOSITORY / "docs/build.md").read_text(encoding="utf-8")
    for command in DoitMain.DOIT_CMDS:
        assert f"| `doit {command.get_name()}`" in page


def test_run_suggests_a_task(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(stage, "cpu.spaek") == 2
    assert capsys.readouterr().err == "ERROR: there is no task `cpu.spaek`; did you mean `cpu.speak`?\n"
