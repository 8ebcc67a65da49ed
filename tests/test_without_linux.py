"""Test commands and imports on a system without Linux' files, modules and functions."""

from __future__ import annotations

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
    """Return the output of a program without Linux; it must end with `status`."""
    command = [sys.executable, "-c", HIDDEN + code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    shutil.copytree(REPOSITORY / "recipes", tmp_path / "recipes")
    return tmp_path


def test_doctor_notes_what_only_linux_reports() -> None:
    code = """
from kokoro_tvm.builder.diagnostics import doctor
from kokoro_tvm.builder.diagnostics.hardware import describe_machine
from kokoro_tvm.common.cpu_features import features_of_cpu
for finding in (
    doctor.check_memory(doctor._available_memory()),
    doctor.check_processor(describe_machine(), features_of_cpu()),
):
    print(finding.verdict, finding.message, sep=": ")
"""
    memory, processor = elsewhere(code).splitlines()
    assert memory == "note: how much is free is unknown, because only Linux reports it"
    assert processor.startswith("note: ")
    assert processor.endswith("its features are unknown, because only Linux lists them")


def test_build_commands_work_elsewhere(repository: Path) -> None:
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


def test_modules_besides_the_compiler_are_importable() -> None:
    """tvm_ffi cannot be imported without fcntl."""
    code = """
import pkgutil
for folder in ("recipe", "builder", "builder/engine", "builder/diagnostics"):
    for found in pkgutil.iter_modules([f"kokoro_tvm/{folder}"], f"kokoro_tvm.{folder.replace('/', '.')}."):
        if not found.name.endswith((".builder.library", ".builder.reference_store")):  # they import TVM
            __import__(found.name)
            print(found.name)
"""
    assert {"kokoro_tvm.builder.engine.worker", "kokoro_tvm.builder.cluster"} <= set(elsewhere(code).split())


def test_stages_need_fork() -> None:
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


def test_peak_memory_is_none_elsewhere() -> None:
    code = """
from kokoro_tvm.tools.bench.worker import _peak_rss_bytes
print(_peak_rss_bytes())
"""
    assert elsewhere(code) == "None\n"


def test_machine_is_described_elsewhere() -> None:
    code = """
from kokoro_tvm.builder.diagnostics.hardware import describe_machine
found = describe_machine()
print(found.cpu, found.memory_bytes, found, sep="|")
"""
    cpu, memory, text = elsewhere(code).strip().split("|")
    assert cpu
    assert memory == "None"
    assert ", unknown memory, " in text
