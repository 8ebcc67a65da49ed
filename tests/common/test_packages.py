"""Packages that builds need, and those that pip refuses on newer Pythons."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from kokoro_tvm.common import packages
from kokoro_tvm.common.errors import BuildError


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Command lines of a pip that fails."""
    commands: list[list[str]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 1, "", "ERROR: no index answers\n")

    monkeypatch.setattr(packages.subprocess, "run", run)
    return commands


@pytest.mark.parametrize(("version", "installed"), [((3, 12), False), ((3, 13), True), ((3, 14), True)])
def test_install_stock_packages_does_nothing_if_pip_can(
    version: tuple[int, int], installed: bool, pip: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    monkeypatch.setattr(packages, "is_installed", lambda name: installed)
    packages.install_stock_packages()
    assert pip == []


def test_install_stock_packages_installs_the_pinned_wheels_alone(
    pip: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 13))
    monkeypatch.setattr(packages, "is_installed", lambda name: False)
    with pytest.raises(BuildError, match=r"cannot be installed: ERROR: no index answers\. Run"):
        packages.install_stock_packages()
    (command,) = pip
    assert command[:4] == [sys.executable, "-m", "pip", "install"]
    assert {"--no-deps", "--ignore-requires-python", "--require-hashes"} <= set(command)
    assert command[-1] == str(packages.STOCK)
