"""What is read from Linux is said to be unknown elsewhere: Linux' files, modules and functions are hidden."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from toys import REPOSITORY

HIDDEN = """
import builtins, errno, io, os, sys, sysconfig
sysconfig.get_config_vars()  # reads a file that is named after the platform
sys.modules |= {"fcntl": None, "resource": None}
for name in ("sched_getaffinity", "sysconf"):
    delattr(os, name)
sys.platform = "elsewhere"

def hide(function):
    def hidden(path, *args, **kwargs):
        if str(path).startswith(("/proc", "/sys/")):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return function(path, *args, **kwargs)
    return hidden

os.stat, io.open, builtins.open = hide(os.stat), hide(io.open), hide(builtins.open)
"""


def elsewhere(code: str, folder: Path = REPOSITORY, status: int = 0) -> str:
    """What a program prints where there is nothing of Linux; `status`: how it has to end."""
    command = [sys.executable, "-c", HIDDEN + code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    shutil.copytree(REPOSITORY / "recipes", tmp_path / "recipes")
    return tmp_path


def test_the_doctor_says_what_it_cannot_tell(repository: Path) -> None:
    code = "from kokoro_tvm.cli import main; main(['doctor', '--json'])"
    findings = {f["about"]: f for f in json.loads(elsewhere(code, repository))}
    assert findings["memory"]["verdict"] == "note"
    assert findings["memory"]["message"] == "how much is free is unknown, because only Linux reports it"
    assert findings["processor"]["verdict"] == "note"
    assert "its features are unknown" in findings["processor"]["message"]
    assert findings["recipe cpu"]["message"] == "can be built here; whether it runs is unknown"


def test_the_other_commands_about_a_build(repository: Path) -> None:
    code = """
from kokoro_tvm.cli import main
for command in ("status", "plan", "verify", "graph", "explain"):
    try:
        main([command, "cpu"])
    except SystemExit as ended:
        assert not ended.code, command
    print(f"ended: {command}")
"""
    assert elsewhere(code, repository).count("ended: ") == 5


def test_what_does_not_compile_is_imported() -> None:
    """tvm_ffi cannot be imported without fcntl."""
    code = """
import pkgutil
for folder in ("recipe", "builder", "builder/engine", "builder/diagnostics"):
    for found in pkgutil.iter_modules([f"kokoro_tvm/{folder}"], f"kokoro_tvm.{folder.replace('/', '.')}."):
        if not found.name.endswith(".builder.library"):  # the compiler's side
            __import__(found.name)
            print(found.name)
"""
    assert {"kokoro_tvm.builder.engine.worker", "kokoro_tvm.builder.cluster"} <= set(elsewhere(code).split())


def test_stages_need_a_system_that_forks() -> None:
    code = """
from pathlib import Path
from kokoro_tvm.builder.engine.worker import run_worker
from kokoro_tvm.common.errors import BuildError
del os.fork
try:
    run_worker({}, Path("x.log"), 10, "cpu.export.bert")
except BuildError as error:
    print(error)
"""
    assert elsewhere(code) == (
        "cpu.export.bert: stages run in forked processes, and this system (elsewhere) has no fork; build on "
        "Linux or macOS, or in WSL.\n"
    )


def test_peak_memory_is_unknown() -> None:
    code = """
from kokoro_tvm.tools.bench.worker import _peak_rss_bytes
print(_peak_rss_bytes())
"""
    assert elsewhere(code) == "None\n"


def test_a_machine_is_described() -> None:
    code = """
from kokoro_tvm.builder.diagnostics.hardware import describe_machine
found = describe_machine()
print(found.cpu, found.memory_bytes, found, sep="|")
"""
    cpu, memory, text = elsewhere(code).strip().split("|")
    assert cpu
    assert memory == "None"
    assert ", unknown memory, " in text
