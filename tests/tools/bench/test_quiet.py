"""How much others computed meanwhile, and what the machine is."""

from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_tvm.builder.diagnostics.hardware import describe_machine
from kokoro_tvm.tools.bench import quiet
from kokoro_tvm.tools.bench.quiet import Watch


def test_what_others_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten seconds in which two cores were busy for 14 s, 4 s of them with us."""
    stat = tmp_path / "stat"
    clock, own = [100.0], [(1.0, 0.0, 0.0, 0.0, 0.0)]
    monkeypatch.setattr(quiet.os, "sysconf", lambda name: 100)
    monkeypatch.setattr(quiet.os, "times", lambda: own[0])
    monkeypatch.setattr(quiet.time, "monotonic", lambda: clock[0])
    stat.write_text("cpu 1000 0 200 9000 50 0 0 0 0 0\ncpu0 1 2 3\n")
    watch = Watch(stat)
    stat.write_text("cpu 1900 100 500 9500 90 20 30 50 0 0\ncpu0 1 2 3\n")
    clock[0], own[0] = 110.0, (2.0, 0.5, 2.0, 0.5, 0.0)
    assert watch.others_cores() == pytest.approx(1.0)


def test_this_machine() -> None:
    assert Watch().others_cores() >= 0
    found = describe_machine()
    assert found.cores >= 1 and found.memory_bytes > 2**28
    assert str(found).startswith(f"{found.cpu}, {found.cores} cores, ")


def test_the_name_of_a_cpu(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(
        "processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n\nprocessor\t: 1\n"
    )
    assert describe_machine(cpuinfo).cpu == "AMD EPYC (family 26, model 2)"
    cpuinfo.write_text("processor\t: 0\nFeatures\t: asimd\n")
    assert describe_machine(cpuinfo).cpu
