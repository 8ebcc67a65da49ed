"""Loops that measure the machine's peak."""

from __future__ import annotations

from kokoro_tvm.common.cpu_features import features_of_cpu
from kokoro_tvm.tools.bench.peak import build_loops, open_meter


def test_meter_measures_every_precision() -> None:
    _, respond = open_meter({"threads": 1})
    peaks = respond({})
    assert ("bfloat16" in peaks) == ("avx512bf16" in (features_of_cpu() or ()))
    assert "float32" in peaks
    assert all(flops > 1e8 for flops in peaks.values())


def test_loop_computes_every_round() -> None:
    """After many rounds of s * 0.5 + 1 every sum is 2; a round in bfloat16 adds a half."""
    for precision, loop in build_loops(threads=2).items():
        loop._rounds = 1000
        loop._time_turn()
        sums = loop._sums.numpy()
        count = loop._flops // (2 * sums.size * (2 if precision == "bfloat16" else 1))
        expected = 2.0 * count if precision == "float32" else 500.0 * count + count * (count - 1) / 2
        assert (sums == expected).all()
