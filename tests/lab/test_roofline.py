"""The least time of launches by a GPU's figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kokoro_tvm.errors import InputError
from kokoro_tvm.lab.roofline import Gpu, Launch, gpu, gpus

FIGURES = Gpu("made up", tflops=10, gb_per_s=1000, cores=100, launch_us=2, source="")
LAUNCH = Launch("decoder", "decoder_conv1d_0", "conv1d", flops=10**9, bytes=10**6, groups=1000)


def test_what_takes_longer_bounds_a_launch() -> None:
    assert LAUNCH.seconds(FIGURES) == pytest.approx(100e-6 + 2e-6)
    assert LAUNCH.bound(FIGURES) == "arithmetic"
    moved = replace(LAUNCH, bytes=10**9)
    assert moved.seconds(FIGURES) == pytest.approx(1e-3 + 2e-6)
    assert moved.bound(FIGURES) == "memory"
    assert replace(LAUNCH, flops=0, bytes=10).bound(FIGURES) == "launch"


def test_few_workgroups_reach_few_cores() -> None:
    assert replace(LAUNCH, groups=10).seconds(FIGURES) == pytest.approx(1e-3 + 2e-6)
    assert replace(LAUNCH, groups=100).seconds(FIGURES) == LAUNCH.seconds(FIGURES)


def test_figures_have_a_source_and_unknown_ones_are_refused() -> None:
    assert all(figures.source and figures.tflops > 0 for figures in gpus().values())
    with pytest.raises(InputError, match="figures of 'h1000' are not known; those of a100"):
        gpu("h1000")
