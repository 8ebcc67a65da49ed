"""The number of threads: argument, environment, usable cores."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.threads import choose_threads, usable_cores


def _groups(tmp_path: Path, line: str, files: dict[str, str]) -> tuple[Path, Path]:
    proc, root = tmp_path / "cgroup", tmp_path / "fs"
    proc.write_text(line + "\n")
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return proc, root


@pytest.mark.parametrize(
    ("line", "files", "cores"),
    [
        ("0::/", {"cpu.max": "max 100000\n"}, 8),
        ("0::/", {"cpu.max": "250000 100000\n"}, 2),
        ("0::/", {"cpu.max": "50000 100000\n"}, 1),
        ("0::/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "300000 100000"}, 3),
        ("0::/not/visible", {"cpu.max": "400000 100000"}, 4),
        (
            "4:cpu,cpuacct:/a",
            {"cpu,cpuacct/a/cpu.cfs_quota_us": "500000", "cpu,cpuacct/a/cpu.cfs_period_us": "100000"},
            5,
        ),
        ("4:cpu:/", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 8),
        ("4:memory:/", {"cpu.max": "100000 100000"}, 8),
    ],
)
def test_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, files: dict[str, str], cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    assert usable_cores(*_groups(tmp_path, line, files)) == cores


def test_affinity_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {5})
    assert usable_cores(*_groups(tmp_path, "0::/", {"cpu.max": "400000 100000"})) == 1
    assert usable_cores(tmp_path / "no such file") == 1


def test_who_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_NUM_THREADS", "3")
    assert choose_threads(None) == 3
    assert choose_threads(5) == 5
    monkeypatch.delenv("TVM_NUM_THREADS")
    assert choose_threads(None) == usable_cores()


@pytest.mark.parametrize("given", ["0", "-1", "many", ""])
def test_no_number(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("TVM_NUM_THREADS", given)
    with pytest.raises(InputError, match="TVM_NUM_THREADS"):
        choose_threads(None)
