"""Files of deploy/ agree with the command, its settings and its exit statuses."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from serving import Server

from kokoro_tvm.common.errors import BundleError, InputError
from kokoro_tvm.serving import connections
from kokoro_tvm.serving.settings import PREFIX, Settings, read_settings, variable

DEPLOY = Path(__file__).parents[2] / "deploy"
UNIT, CONTAINER = DEPLOY / "kokoro-tvm.service", DEPLOY / "Containerfile"
DEFAULTS = Settings()


def unit() -> dict[str, list[str]]:
    """The values of each directive of the unit."""
    result: dict[str, list[str]] = {}
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            result.setdefault(name, []).append(value)
    return result


def container() -> dict[str, list[str]]:
    """The arguments of each instruction of the Containerfile, lines joined."""
    text = CONTAINER.read_text(encoding="utf-8").replace("\\\n", " ")
    result: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, rest = line.partition(" ")
            result.setdefault(name, []).append(rest.strip())
    return result


def check_command(words: list[str]) -> None:
    """Raise InputError if `serve` does not accept its arguments."""
    assert Path(words[0]).name == "kokoro-tvm"
    assert words[1] == "serve"
    read_settings(words[2:])


def test_deploy_files_use_valid_options(tmp_path: Path) -> None:
    words = shlex.split(unit()["ExecStart"][0])
    file = tmp_path / "empty.yaml"
    file.touch()
    check_command([str(file) if word == "/etc/kokoro-tvm.yaml" else word for word in words])
    check_command(json.loads(container()["ENTRYPOINT"][0]))
    with pytest.raises(InputError, match="unrecognized arguments: --nothing"):
        check_command(["kokoro-tvm", "serve", "--nothing"])


@pytest.mark.parametrize("file", [UNIT, CONTAINER], ids=lambda file: file.name)
def test_deploy_files_name_existing_settings(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert set(re.findall(rf"{PREFIX}\w+", text)) <= {variable(name) for name in Settings.model_fields}
    named = re.findall(r"`(\w+)(?::[^`]*)?`", text)
    assert set(named) <= Settings.model_fields.keys() | {"serve"}


def test_deploy_files_wait_for_the_shutdown_timeout() -> None:
    assert int(unit()["TimeoutStopSec"][0]) > DEFAULTS.shutdown_timeout_s
    result = re.search(r"--stop-timeout (\d+)", CONTAINER.read_text(encoding="utf-8"))
    assert result is not None
    assert int(result[1]) > DEFAULTS.shutdown_timeout_s
    for file in (UNIT, CONTAINER):
        assert f"{DEFAULTS.shutdown_timeout_s:g} s to end" in file.read_text(encoding="utf-8")
    assert container()["STOPSIGNAL"] == ["SIGTERM"]


def test_unit_allows_files_for_all_connections() -> None:
    others = connections._OTHER_FILES + connections._BURST
    assert int(unit()["LimitNOFILE"][0]) >= DEFAULTS.max_connections + others
    assert f"by {others}." in UNIT.read_text(encoding="utf-8")


def test_unit_does_not_restart_after_permanent_errors() -> None:
    statuses = set(map(int, unit()["RestartPreventExitStatus"][0].split()))
    assert statuses == {InputError.exit_code, BundleError.exit_code}


def test_unit_writes_to_its_cache_directory() -> None:
    given = f"/var/cache/{unit()['CacheDirectory'][0]}"
    text = UNIT.read_text(encoding="utf-8")
    assert set(re.findall(r"/var/\w+/[\w-]+", text)) == {given}
    assert f"XDG_CACHE_HOME={given}" in unit()["Environment"]


def test_containerfile_installs_an_existing_extra() -> None:
    pyproject = (DEPLOY.parent / "pyproject.toml").read_text(encoding="utf-8")
    for extra in re.findall(r"\.whl\)\[(\w+)\]", CONTAINER.read_text(encoding="utf-8")):
        assert re.search(rf"^{extra} = \[", pyproject, re.MULTILINE)


def test_containerfile_exposes_the_ports() -> None:
    image = dict(value.split("=") for value in container()["ENV"])
    assert image == {f"{PREFIX}HOST": "0.0.0.0", f"{PREFIX}PORT": str(DEFAULTS.port)}
    assert container()["EXPOSE"] == [f"{DEFAULTS.port} 10200"]


@pytest.mark.parametrize("alive", [True, False])
def test_containerfile_health_check_reports_the_server(server: Server, alive: bool) -> None:
    words = json.loads(container()["HEALTHCHECK"][0].partition("CMD ")[2])
    assert words[0] == "python"
    environment = os.environ | {f"{PREFIX}PORT": str(server.port if alive else 1)}
    done = subprocess.run([sys.executable, *words[1:]], env=environment, capture_output=True, timeout=60)
    assert (done.returncode == 0) is alive


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not there")
def test_unit_passes_systemd_analyze(tmp_path: Path) -> None:
    copy = tmp_path / UNIT.name
    text = UNIT.read_text(encoding="utf-8")
    copy.write_text(text.replace("/opt/kokoro-tvm/bin/kokoro-tvm", "/bin/true"), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True)
    assert UNIT.name not in done.stderr, done.stderr
