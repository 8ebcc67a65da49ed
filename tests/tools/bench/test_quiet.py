"""CPU time of other processes, and the description of the machine."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from kokoro_tvm.builder.diagnostics.hardware import describe_machine
from kokoro_tvm.tools.bench import quiet
from kokoro_tvm.tools.bench.quiet import CpuWatch


def test_watch_counts_only_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """In ten seconds two cores were busy for 14 s, 4 s of them with this process."""
    clock, own = [100.0], [(1.0, 0.0, 0.0, 0.0, 0.0)]
    times = [{"user": 10.0, "system": 2.0, "idle": 90.0, "iowait": 0.5}]
    monkeypatch.setattr(quiet.os, "times", lambda: own[0])
    monkeypatch.setattr(quiet.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(quiet.psutil, "cpu_times", lambda: SimpleNamespace(_asdict=lambda: times[0]))
    watch = CpuWatch()
    times[0] = {"user": 20.0, "system": 5.5, "idle": 95.0, "iowait": 0.9, "steal": 0.5, "guest": 3.0}
    clock[0], own[0] = 110.0, (2.0, 0.5, 2.0, 0.5, 0.0)
    assert watch.others_cores() == pytest.approx((20 + 5.5 + 0.5 - 12 - 4) / 10)


def test_describe_machine_has_every_field() -> None:
    assert CpuWatch().others_cores() >= 0
    machine = describe_machine()
    assert machine.cores >= 1 and machine.memory_bytes > 2**28
    assert str(machine).startswith(f"{machine.cpu}, {machine.cores} cores, ")


def test_describe_machine_reads_the_name_of_the_cpu(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(
        "processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n\nprocessor\t: 1\n"
    )
    assert describe_machine(cpuinfo).cpu == "AMD EPYC (family 26, model 2)"
    cpuinfo.write_text("processor\t: 0\nFeatures\t: asimd\n")
    assert describe_machine(cpuinfo).cpu
