from __future__ import annotations

import numpy as np
import pytest
import torch

from kokoro_tvm.targets import Machine

from .support import check, check_masked, machines, random, random_lengths, run

SIZES = {"n_fft": 20, "hop": 5}
BINS = 11


@machines
def test_istft_matches_reference_at_every_length(machine: Machine) -> None:
    def holds(frames: int) -> None:
        check("istft", {"x": random(1, frames, 2 * BINS)}, SIZES, machine=machine)

    random_lengths(holds, 1500, 2, also=(3, 257, 258))


@machines
def test_istft_matches_reference_for_large_phases(machine: Machine) -> None:
    """Use the model's log magnitudes of -20 to 5, and phases of any size."""
    x = random(1, 300, 2 * BINS)
    x[..., :BINS] = x[..., :BINS] * 5 - 8
    x[..., BINS:] *= 100
    check("istft", {"x": x}, SIZES, machine=machine)


@machines
def test_istft_matches_reference_when_masked(machine: Machine) -> None:
    tensors = {"x": random(1, 301, 2 * BINS)}

    def holds(length: int) -> None:
        check_masked("istft", tensors, SIZES, length=length, machine=machine)

    random_lengths(holds, 301, 2, also=(257,))


@machines
def test_istft_normalizes_edges(machine: Machine) -> None:
    """Expect a constant signal, from the first to the last sample, for a constant DC bin."""
    x = torch.full((1, 9, 2 * BINS), -80.0)
    x[..., 0] = 0.0
    x[..., BINS:] = 0.0
    actual = run("istft", {"x": x}, SIZES, machine=machine)
    n = np.arange(20)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * n / 20)
    # Sum of the windows over the sum of their squares, with the frames there are at each sample.
    sums = np.zeros((2, 60))
    for frame in range(9):
        sums[:, frame * 5 : frame * 5 + 20] += [window, window**2]
    want = (sums[0] / np.maximum(sums[1], 1e-30))[10:-10] / 20
    np.testing.assert_allclose(actual[0], want, rtol=1e-6)


@machines
@pytest.mark.parametrize("sizes", [{"n_fft": 20, "hop": 8}, {"n_fft": 20, "hop": 4}])
def test_istft_rejects_other_hops(sizes: dict[str, int], machine: Machine) -> None:
    with pytest.raises(NotImplementedError, match="hop must divide half the window"):
        run("istft", {"x": random(1, 9, 22)}, sizes, machine=machine)
