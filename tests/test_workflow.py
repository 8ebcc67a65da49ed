"""The nightly workflow does what anyone can type, with tools that are pinned."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from kokoro_tvm.build.reporter import LineReporter
from kokoro_tvm.build.tasks import recipe_tasks
from kokoro_tvm.cli._app import build_app

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / ".github/workflows/nightly.yml").read_text(encoding="utf-8")
WORKFLOW: dict[Any, Any] = yaml.safe_load(TEXT)
(JOB,) = WORKFLOW["jobs"].values()
STEPS: list[dict[str, Any]] = JOB["steps"]
COMMANDS = [line for step in STEPS for line in step.get("run", "").splitlines()]


def test_it_runs_at_night_and_on_request_and_may_only_read() -> None:
    when = WORKFLOW[True]  # YAML 1.1 takes the key `on` for a boolean
    assert when.keys() == {"schedule", "workflow_dispatch"}
    assert re.fullmatch(r"\d+ \d+ \* \* \*", when["schedule"][0]["cron"])
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert "secrets." not in TEXT
    assert 0 < JOB["timeout-minutes"] <= 360


def test_steps_are_actions_of_one_version_or_commands() -> None:
    for step in STEPS:
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+\.\d+\.\d+", step["uses"])


def test_the_machine_and_python_are_pinned_too() -> None:
    assert re.fullmatch(r"ubuntu-\d+\.04", JOB["runs-on"])
    (python,) = [step["with"]["python-version"] for step in STEPS if "setup-python" in step.get("uses", "")]
    assert python == "3.11"


def test_it_installs_as_the_readme_says_and_what_only_nights_need() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    install, extra = COMMANDS[0].rsplit(" ", 1)
    assert extra == "'.[asr,test]'"
    assert f"{install} . && .venv/bin/doit" in readme


@pytest.mark.parametrize("line", COMMANDS[1:])
def test_it_calls_what_is_documented(line: str, tmp_path: Path) -> None:
    program, *words = shlex.split(line)
    if program == ".venv/bin/doit":
        made = recipe_tasks(ROOT / "recipes", tmp_path, LineReporter(io.StringIO(), io.StringIO()))
        assert set(words) <= {task["basename"] for task in made}
        assert f"doit {words[0]}" in (ROOT / "docs/build.md").read_text(encoding="utf-8")
    elif program == ".venv/bin/python":
        module, tests, marker, name = words
        assert (module, tests, marker) == ("-m", "pytest", "-m")
        marked = ROOT.joinpath("tests").rglob("test_*.py")
        assert any(f"pytest.mark.{name}" in path.read_text(encoding="utf-8") for path in marked)
    else:
        assert program == ".venv/bin/kokoro-tvm"
        command: Any = typer.main.get_command(build_app())
        command.commands[words[0]].make_context(words[0], words[1:]).close()


def test_it_builds_then_says_how_all_stands_then_tests() -> None:
    runs = [(step["run"], step.get("if")) for step in STEPS if "run" in step]
    assert runs[-4:] == [
        (".venv/bin/doit nightly", None),
        (".venv/bin/doit report", "always()"),
        (".venv/bin/kokoro-tvm status", "always()"),
        (".venv/bin/python -m pytest -m nightly", None),
    ]


def test_it_builds_the_set_keeps_what_it_built_and_uploads_report_and_bundles() -> None:
    assert ".venv/bin/doit nightly" in COMMANDS
    uses = [(step["uses"].partition("@")[0], step) for step in STEPS if "uses" in step]
    (cache,) = [step for name, step in uses if name == "actions/cache"]
    assert cache["with"]["key"].startswith(cache["with"]["restore-keys"])
    assert JOB["env"]["KOKORO_TVM_CACHE"] == "${{ github.workspace }}/" + cache["with"]["path"]
    assert JOB["env"].keys() - {"PIP_EXTRA_INDEX_URL"} == {"KOKORO_TVM_EVENTS", "KOKORO_TVM_CACHE"}
    report, bundles = [step for name, step in uses if name == "actions/upload-artifact"]
    assert report["if"] == "always()"
    kept = report["with"]["path"].splitlines()
    assert {JOB["env"]["KOKORO_TVM_EVENTS"], "artifacts/*/report.html"} <= set(kept)
    assert "if" not in bundles  # what missed a gate is not handed out
