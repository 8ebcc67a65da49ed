"""What exact arithmetic would choose: beside the truth, never in its place."""

from __future__ import annotations

import math

import numpy as np
import torch

from kokoro_tvm.measure.metrics import snr_db
from kokoro_tvm.truth.exact import ExactPhases
from kokoro_tvm.truth.reference import Reference


def test_bins_that_are_real_have_the_phase_zero_or_pi() -> None:
    """A signal mirrored about its first sample has a real spectrum there; rounding would say pi or -pi."""
    signal = torch.from_numpy(np.random.default_rng(0).standard_normal((1, 600)))
    window = torch.hann_window(20, dtype=torch.float64)
    spectra = torch.stft(signal, 20, 5, window=window, return_complex=True)
    assert (spectra.imag[:, 1:-1, 0] != 0).any(), "rounding is there"
    before = spectra.clone()
    with ExactPhases():
        phases = torch.angle(spectra)
    assert torch.equal(spectra, before)
    real = torch.cat([phases[:, :, 0].ravel(), phases[:, [0, -1]].ravel()])
    assert set(real.tolist()) == {0.0, math.pi}
    rest = phases[:, 1:-1, 1:]
    assert torch.equal(rest, torch.angle(spectra)[:, 1:-1, 1:])


def test_only_the_choice_of_phases_differs(references: list[Reference]) -> None:
    """Rounding chose otherwise in some first frame, or the column would be for nothing."""
    pairs = [(r.exact_audio, r.truth.audio) for r in references]
    pairs += [(r.fed_exact_audio, r.fed_truth.audio) for r in references]
    for exact, truth in pairs:
        assert exact.dtype == np.float64
        assert exact.shape == truth.shape
        assert snr_db(exact, truth) > 20
    assert min(snr_db(exact, truth) for exact, truth in pairs) < 200
