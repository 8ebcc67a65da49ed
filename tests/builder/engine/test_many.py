"""Parallel builds in one checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from many import NAMES

from kokoro_tvm.builder.engine.store import Store


@pytest.mark.parametrize(
    ("count", "jobs"), [(2, 2), pytest.param(8, 1, marks=pytest.mark.slow("runs eight builds at once"))]
)
def test_parallel_builds_build_every_key_once(tmp_path: Path, count: int, jobs: int) -> None:
    ran = tmp_path / "ran"
    command = [sys.executable, "-m", "many", str(tmp_path), str(ran), str(jobs)]
    builds = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    printed = [build.communicate()[0] for build in builds]
    assert [build.returncode for build in builds] == [0] * count, "\n".join(printed)
    assert sorted((ran / "lines").read_text().split()) == sorted(NAMES)
    store = Store(tmp_path / ".store", paranoid=True)
    for name in NAMES:
        current = store.current(f"cpu.{name}")
        assert current is not None
        assert store.verify(current, tmp_path / "seen") == ()
    assert [path.name for path in (tmp_path / ".store" / "work").iterdir() if path.is_dir()] == []
