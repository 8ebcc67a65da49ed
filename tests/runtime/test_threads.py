"""The number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.common.errors import InputError
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
def test_usable_cores_respects_quotas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, files: dict[str, str], cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    assert usable_cores(*_groups(tmp_path, line, files), cpus=tmp_path) == cores


def test_usable_cores_respects_affinity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {5})
    assert usable_cores(*_groups(tmp_path, "0::/", {"cpu.max": "400000 100000"})) == 1
    assert usable_cores(tmp_path / "no such file") == 1


@given(st.data())
def test_usable_cores_counts_physical_cores(data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 4), label="threads a core")
    cores = data.draw(st.integers(1, 8), label="cores")
    numbers = data.draw(st.permutations(range(width * cores)), label="numbers")
    core_of = {number: place // width for place, number in enumerate(numbers)}
    shown = data.draw(st.sets(st.sampled_from(numbers)), label="CPUs that the system describes")
    allowed = data.draw(st.sets(st.sampled_from(numbers), min_size=1), label="affinity")
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        for number in shown:
            siblings = sorted(n for n in numbers if core_of[n] == core_of[number])
            topology = Path(folder, f"cpu{number}", "topology")
            topology.mkdir(parents=True)
            (topology / "thread_siblings_list").write_text(",".join(map(str, siblings)) + "\n")
        patch.setattr(os, "sched_getaffinity", lambda pid: allowed)
        result = usable_cores(Path(folder, "no groups"), cpus=Path(folder))
        quota, period = data.draw(st.integers(1, 10), label="quota"), 100_000
        groups = _groups(Path(folder), "0::/", {"cpu.max": f"{quota * period} {period}"})
        assert usable_cores(*groups, cpus=Path(folder)) == min(result, quota)
    described, others = allowed & shown, allowed - shown
    assert result == len({core_of[number] for number in described}) + len(others)


def test_usable_cores_without_topology(tmp_path: Path) -> None:
    assert usable_cores(tmp_path / "none", cpus=tmp_path) == len(os.sched_getaffinity(0))


def test_choose_threads_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_NUM_THREADS", "3")
    assert choose_threads(None) == 3
    assert choose_threads(5) == 5
    monkeypatch.delenv("TVM_NUM_THREADS")
    assert choose_threads(None) == usable_cores()


def test_choose_threads_divides_cores_among_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TVM_NUM_THREADS", raising=False)
    monkeypatch.setattr("kokoro_tvm.runtime.threads.usable_cores", lambda: 7)
    assert [choose_threads(None, processes) for processes in (1, 2, 3, 7, 9)] == [7, 3, 2, 1, 1]
    monkeypatch.setenv("TVM_NUM_THREADS", "4")
    assert choose_threads(None, 2) == 4
    assert choose_threads(1, 2) == 1


def test_choose_threads_refuses_more_than_the_maximum() -> None:
    """TVM would abort the process if it could not start a thread."""
    with pytest.raises(InputError, match="threads should be a number of threads, 1 to 1024, but is 2000"):
        choose_threads(2000)


def test_choose_threads_refuses_more_than_memory_allows() -> None:
    resource = pytest.importorskip("resource")
    code = """
import resource
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.threads import choose_threads
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
try:
    choose_threads(1024)
except InputError as error:
    print(error)
"""
    if resource.getrlimit(resource.RLIMIT_STACK)[0] == resource.RLIM_INFINITY:
        pytest.skip("threads have small stacks where those of processes have no limit")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert result.stdout.startswith("threads is 1024, but this process may start no more than ")
    assert result.stdout.endswith("Give fewer.\n")


@pytest.mark.parametrize("given", ["0", "-1", "many", "", "1025"])
def test_choose_threads_refuses_other_types(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("TVM_NUM_THREADS", given)
    with pytest.raises(InputError, match="TVM_NUM_THREADS"):
        choose_threads(None)
