"""Test the workflows' security rules, the commands that they call, and the scripts of .ci/."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from packaging.specifiers import SpecifierSet

from kokoro_tvm.builder.engine.versions import PYTHON
from kokoro_tvm.cli import build_app

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
NIGHTLY = ROOT / ".github/workflows/nightly.yml"


def jobs(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values())


def commands(path: Path) -> list[str]:
    """Return the lines of every `run` step of a workflow."""
    return [line for job in jobs(path) for step in job["steps"] for line in step.get("run", "").splitlines()]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_may_only_read_and_only_the_signing_step_has_a_secret(path: Path) -> None:
    secret = "${{ secrets.KOKORO_TVM_SIGNING_KEY }}"
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"] == {"contents": "read"}
    signing = [step for job in jobs(path) for step in job["steps"] if secret in step.get("env", {}).values()]
    assert [step["run"] for step in signing] == ([".ci/release"] if path == NIGHTLY else [])
    assert path.read_text(encoding="utf-8").count("secrets.") == len(signing)


def test_publishing_jobs_run_no_code_of_the_repository() -> None:
    build, publish, site = jobs(NIGHTLY)
    assert "permissions" not in build
    assert publish["permissions"] == {"contents": "write", "packages": "write"}
    assert site["permissions"] == {"pages": "write", "id-token": "write"}
    assert not any("checkout" in step.get("uses", "") for job in (publish, site) for step in job["steps"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit_with_their_version_in_a_comment(path: Path) -> None:
    used = re.findall(r"uses:(.*)", path.read_text(encoding="utf-8"))
    assert used
    assert all(
        re.fullmatch(r" actions/[a-z-]+(/[a-z]+)?@[0-9a-f]{40}  # v\d+\.\d+\.\d+", use) for use in used
    )


def test_hosts_workflow_tries_every_supported_python() -> None:
    (job,) = jobs(ROOT / ".github/workflows/hosts.yml")
    versions = {include["python"] for include in job["strategy"]["matrix"]["include"]}
    assert versions == {f"3.{minor}" for minor in range(8, 20) if f"3.{minor}" in SpecifierSet(PYTHON)}


@pytest.mark.parametrize(
    "line", [line for path in WORKFLOWS for line in commands(path) if ".venv/bin/kokoro-tvm" in line]
)
def test_commands_of_workflows_parse(line: str) -> None:
    call = re.search(r"\.venv/bin/kokoro-tvm ([^|&]+)", line)
    assert call is not None
    name, *arguments = shlex.split(call[1])
    command: Any = typer.main.get_command(build_app())
    command.commands[name].make_context(name, arguments).close()


def test_nightly_steps_after_the_build_run_when_it_failed() -> None:
    steps = [step for step in jobs(NIGHTLY)[0]["steps"] if "run" in step]
    (build,) = (number for number, step in enumerate(steps) if step["run"] == ".venv/bin/doit nightly")
    assert all(step["if"].startswith("always()") for step in steps[build + 1 :])
    # Without a build the store is empty, and gc would empty the cache.
    (gc,) = (step for step in steps if "gc --keep 0" in step["run"])
    assert gc["if"] == f"always() && steps.{steps[build]['id']}.outcome != 'skipped'"


def test_doctor_is_the_only_list_of_the_recipes_packages() -> None:
    for path in (*(ROOT / ".ci").iterdir(), *WORKFLOWS):
        text = path.read_text(encoding="utf-8").replace("brew install lld", "")
        assert not re.search(r"qemu-user|wine64|\blld\b|mingw|g\+\+-", text), path
        assert "apt-get install" not in text or path.name == "packages"
    assert "doctor --packages" in (ROOT / ".ci/slow").read_text(encoding="utf-8")


@pytest.mark.parametrize("key", ["", "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----"])
def test_release_script_signs_if_there_is_a_key_and_warns_otherwise(key: str, tmp_path: Path) -> None:
    program = tmp_path / ".venv" / "bin" / "kokoro-tvm"
    program.parent.mkdir(parents=True)
    script = '#!/bin/bash\necho "${@:1:9}" "${SIGNING_KEY-no variable}"; [ -z "${10-}" ] || cat "${11}"\n'
    program.write_text(script, encoding="utf-8")
    program.chmod(0o755)
    environment = {"PATH": "/usr/bin:/bin", "SIGNING_KEY": key}
    command = [str(ROOT / ".ci" / "release")]
    result = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    *warnings, release = result.stdout.removesuffix(f"{key}\n" if key else "").splitlines()
    assert release == "release -o release --push layout --wheel x86-64-v3 --wheel linux-arm64 no variable"
    assert [line.partition(": ")[0] for line in warnings] == ([] if key else ["::warning::unsigned"])
    assert result.stdout.endswith(f"{key}\n")
    assert list(tmp_path.rglob("*.pem")) == []


PROGRAMS = {
    "apt-get": '[ "$1" = update ] || [ "${*: -1}" != gone ] && echo "${BY:-root} $*" >> log',
    "id": "echo $ID",
    "sudo": '[ -n "$SUDO" ] || exit 1; shift; BY=sudo "$@"',
}
NEEDS_ROOT = "Not installed, because that takes root, or sudo without a password: lld gone g++\n"


@pytest.mark.parametrize(
    ("user", "sudo", "by", "output"),
    [
        ("0", "", "root", "Not installed: gone\n"),
        ("1000", "yes", "sudo", "Not installed: gone\n"),
        ("1000", "", None, NEEDS_ROOT),
    ],
)
def test_packages_script_installs_one_package_at_a_time(
    user: str, sudo: str, by: str | None, output: str, tmp_path: Path
) -> None:
    for name, script in PROGRAMS.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "ID": user, "SUDO": sudo}
    command = [str(ROOT / ".ci/packages"), "lld", "gone", "g++"]
    result = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout == output
    log = tmp_path / "log"
    options = "install -q -y --no-install-recommends"
    expected = [f"{by} update -q", f"{by} {options} lld", f"{by} {options} g++"] if by else []
    assert (log.read_text(encoding="utf-8").splitlines() if log.exists() else []) == expected
