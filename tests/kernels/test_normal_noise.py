"""The noise kernel draws the bits of `draw_noise`, whatever vectors and threads do."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kokoro_tvm.common.constants import SAMPLES_PER_FRAME
from kokoro_tvm.common.noise import draw_noise
from kokoro_tvm.runtime.session.noise import seed_words
from kokoro_tvm.targets import Machine

from .support import machines, run

MAX_FRAMES = 5120  # the largest bucket of the shipped recipes
LONG = 40  # steps of 300: three tasks of 4096 samples


def tensors(steps: int, seed: int, piece: int = 0) -> dict[str, torch.Tensor | None]:
    """Return a pitch of NaN, because its values do not matter."""
    return {"f0": torch.full((1, steps), np.nan), "seed": torch.from_numpy(seed_words(seed, piece))}


@machines
def test_normal_noise_draws_reference_bits(machine: Machine) -> None:
    @settings(max_examples=examples(20))
    @given(st.integers(1, LONG), st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1))
    @example(LONG, 2**64 - 1, 2**32 - 1)
    @example(LONG, 0, 0)
    def holds(steps: int, seed: int, piece: int) -> None:
        actual = run("normal_noise", tensors(steps, seed, piece), {"upsample": 300}, machine=machine)
        assert actual[0].tobytes() == draw_noise(seed, 300 * steps, piece).tobytes()

    holds()


@machines
def test_the_kernel_counts_to_the_longest_audio(machine: Machine) -> None:
    """All 20 bits of the counter that a decoder reaches: 5,120 frames are 768,000 blocks."""
    steps = 2 * MAX_FRAMES
    actual = run("normal_noise", tensors(steps, 11, 1), {"upsample": SAMPLES_PER_FRAME // 2}, machine=machine)
    want = draw_noise(11, MAX_FRAMES * SAMPLES_PER_FRAME, 1)
    (off,) = np.nonzero(actual[0] != want)
    assert off.size == 0, f"{off.size} of {want.size} samples differ, the first at {off[0]}"


@machines
@pytest.mark.parametrize("upsample", [1, 7])
def test_normal_noise_draws_partial_blocks(upsample: int, machine: Machine) -> None:
    for steps in (*range(1, 10), 586, 4097):  # 4097: one sample of a third task, or of an eighth
        actual = run("normal_noise", tensors(steps, 5), {"upsample": upsample}, machine=machine)
        assert actual[0].tobytes() == draw_noise(5, upsample * steps).tobytes()


@machines
def test_normal_noise_accepts_static_length(machine: Machine) -> None:
    actual = run("normal_noise", tensors(LONG, 9), {"upsample": 300}, dynamic=False, machine=machine)
    assert actual[0].tobytes() == draw_noise(9, 300 * LONG).tobytes()
