"""The workflows do what anyone can type, with tools that are pinned."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from kokoro_tvm.cli._app import build_app
from kokoro_tvm.engine.reporter import LineReporter
from kokoro_tvm.project.tasks import recipe_tasks

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def read(path: Path) -> dict[Any, Any]:
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


def jobs(path: Path) -> list[dict[str, Any]]:
    return list(read(path)["jobs"].values())


def commands(steps: list[dict[str, Any]]) -> list[str]:
    return [line for step in steps for line in step.get("run", "").splitlines()]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_only_read_and_has_no_secrets(path: Path) -> None:
    assert read(path)["permissions"] == {"contents": "read"}
    assert "secrets." not in path.read_text(encoding="utf-8")
    assert all(0 < job["timeout-minutes"] <= 360 for job in jobs(path))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit_with_the_version_beside_it(path: Path) -> None:
    """Who can move a tag cannot change what runs here; the comment is for readers and for updates."""
    lines = path.read_text(encoding="utf-8").splitlines()
    used = [line.partition("uses:")[2].strip() for line in lines if "uses:" in line]
    assert len(used) == sum("uses" in step for job in jobs(path) for step in job["steps"])
    for each in used:
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", each), each


def test_one_version_of_an_action_has_one_commit() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    pins = set(re.findall(r"uses: (\S+)@(\S+)  # (\S+)", text))
    assert len(pins) == len({name for name, _, _ in pins})


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_machine_and_python_are_pinned_too(path: Path) -> None:
    for job in jobs(path):
        assert re.fullmatch(r"ubuntu-\d+\.04", job["runs-on"])
        steps = [step for step in job["steps"] if "setup-python" in step.get("uses", "")]
        assert [step["with"]["python-version"] for step in steps] == ["3.11"]


def test_every_push_and_pull_request_runs_what_the_readme_says() -> None:
    """One tier a job, side by side. What they run are the README's lines: tests/test_docs.py."""
    workflow = ROOT / ".github/workflows/tests.yml"
    assert set(read(workflow)[True]) == {"push", "pull_request"}
    assert [commands(job["steps"]) for job in jobs(workflow)] == [[".ci/run"], [".ci/slow"]]
    assert not any("needs" in job for job in jobs(workflow))


NIGHTLY = read(ROOT / ".github/workflows/nightly.yml")
(JOB,) = jobs(ROOT / ".github/workflows/nightly.yml")
STEPS: list[dict[str, Any]] = JOB["steps"]
COMMANDS = commands(STEPS)


def test_it_runs_at_night_and_on_request() -> None:
    when = NIGHTLY[True]  # YAML 1.1 takes the key `on` for a boolean
    assert when.keys() == {"schedule", "workflow_dispatch"}
    assert re.fullmatch(r"\d+ \d+ \* \* \*", when["schedule"][0]["cron"])


def test_it_installs_as_the_readme_says_and_what_only_nights_need() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    install, extra = COMMANDS[0].rsplit(" ", 1)
    assert extra == "'.[asr,test-slow]'"
    assert f"{install} '.[build]' && .venv/bin/doit" in readme


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
    elif program == "rm":
        assert words == ["-rf", "last-night", "&&", "cp", "-r", "artifacts/cpu", "last-night"]
    elif program == "sudo":
        page = (ROOT / "docs/targets.md").read_text(encoding="utf-8")
        assert line.removeprefix("sudo ").replace(" -y", "") in page
    else:
        assert program == ".venv/bin/kokoro-tvm"
        command: Any = typer.main.get_command(build_app())
        command.commands[words[0]].make_context(words[0], words[1:]).close()


def test_it_builds_then_says_how_all_stands_then_tests() -> None:
    runs = [(step["run"], step.get("if")) for step in STEPS if "run" in step]
    assert runs[-8:] == [
        (".venv/bin/doit nightly", None),
        (".venv/bin/doit report", "always()"),
        (".venv/bin/kokoro-tvm status", "always()"),
        (".venv/bin/kokoro-tvm gc --keep 0 --cache", None),  # or the cache would grow for ever
        (".venv/bin/kokoro-tvm web wasm -o site", None),
        (".venv/bin/python -m pytest -m nightly", None),
        (
            ".venv/bin/kokoro-tvm profile --against last-night --repeat 15",
            "hashFiles('last-night/bundle.json') != ''",
        ),
        ("rm -rf last-night && cp -r artifacts/cpu last-night", "always()"),
    ]


def test_last_night_s_bundle_is_kept_for_one_night() -> None:
    """Under a key of its own: an entry of the cache never changes."""
    (kept,) = [step["with"] for step in STEPS if step.get("with", {}).get("path") == "last-night"]
    assert kept["key"].startswith(kept["restore-keys"])


def test_it_builds_the_set_keeps_what_it_built_and_uploads_report_and_bundles() -> None:
    assert ".venv/bin/doit nightly" in COMMANDS
    uses = [(step["uses"].partition("@")[0], step) for step in STEPS if "uses" in step]
    cache, _ = [step for name, step in uses if name == "actions/cache"]
    assert cache["with"]["key"].startswith(cache["with"]["restore-keys"])
    assert JOB["env"]["KOKORO_TVM_CACHE"] == "${{ github.workspace }}/" + cache["with"]["path"]
    assert JOB["env"].keys() - {"PIP_EXTRA_INDEX_URL"} == {"KOKORO_TVM_EVENTS", "KOKORO_TVM_CACHE"}
    report, bundles, site = [step for name, step in uses if name == "actions/upload-artifact"]
    assert report["if"] == "always()"
    kept = report["with"]["path"].splitlines()
    assert {JOB["env"]["KOKORO_TVM_EVENTS"], "artifacts/*/report.html"} <= set(kept)
    assert "if" not in bundles  # what missed a gate is not handed out
    assert "if" not in site
    assert f".venv/bin/kokoro-tvm web wasm -o {site['with']['path']}" in COMMANDS
