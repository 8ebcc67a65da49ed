"""The loop that measures the machine's peak."""

from __future__ import annotations

from kokoro_tvm.common.cpu_features import features_of_cpu
from kokoro_tvm.tools.bench.peak import loops, opened


def test_measures_every_precision_the_machine_multiplies() -> None:
    _, answer = opened({"threads": 1})
    found = answer({})
    assert ("bfloat16" in found) == ("avx512bf16" in (features_of_cpu() or ()))
    assert "float32" in found
    assert all(flops > 1e8 for flops in found.values())


def test_the_loop_is_computed_not_skipped() -> None:
    """After many rounds of s * 0.5 + 1 every sum is 2; every round in bfloat16 adds half."""
    for precision, loop in loops(threads=2).items():
        loop._rounds = 1000
        loop._seconds()
        sums = loop._sums.numpy()
        count = loop._flops // (2 * sums.size * (2 if precision == "bfloat16" else 1))
        expected = 2.0 * count if precision == "float32" else 500.0 * count + count * (count - 1) / 2
        assert (sums == expected).all()
