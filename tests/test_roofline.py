"""The least time of launches by a GPU's figures."""

from __future__ import annotations

from dataclasses import replace

import pytest
from roofline import Gpu, Launch

FIGURES = Gpu("made up", tflops=10, gb_per_s=1000, cores=100, launch_us=2)
LAUNCH = Launch(flops=10**9, bytes=10**6, groups=1000)


def test_what_takes_longer_bounds_a_launch() -> None:
    assert LAUNCH.seconds(FIGURES) == pytest.approx(100e-6 + 2e-6)
    moved = replace(LAUNCH, bytes=10**9)
    assert moved.seconds(FIGURES) == pytest.approx(1e-3 + 2e-6)
    assert replace(LAUNCH, flops=0, bytes=0).seconds(FIGURES) == pytest.approx(2e-6)


def test_few_workgroups_reach_few_cores() -> None:
    assert replace(LAUNCH, groups=10).seconds(FIGURES) == pytest.approx(1e-3 + 2e-6)
    assert replace(LAUNCH, groups=100).seconds(FIGURES) == LAUNCH.seconds(FIGURES)
