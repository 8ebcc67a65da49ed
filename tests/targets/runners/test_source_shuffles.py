"""Shuffles of kernels run from source: lanes, segments and subgroups."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from source_kernels import (
    FRAMES,
    ROTATION,
    SUM,
    kinds,
    run,
)

from kokoro_tvm.targets.runners.source import program
from kokoro_tvm.targets.runners.source.program import Order

pytestmark = pytest.mark.slow("compiles kernels for GPUs as C++")


@kinds
@pytest.mark.parametrize("order", [Order.FORWARDS, Order.BACKWARDS, Order.SHUFFLED])
def test_shuffles_return_values_of_other_lanes(kind: str, order: Order) -> None:
    x, y = run(kind, SUM, 128, 4, order)
    assert np.allclose(y, x.reshape(4, 32).sum(1), rtol=1e-5)


def test_shuffle_of_a_wrong_width_changes_the_result() -> None:
    x, y = run("cuda", SUM.replace("SHUFFLE(v, d)", "__shfl_down_sync(__activemask(), v, d, 16)"), 64, 2)
    assert not np.isclose(y, x.reshape(2, 32).sum(1), rtol=0.1).any()


def test_shuffle_from_outside_of_the_subgroup_is_poisoned() -> None:
    body = "  y[i] = simd_shuffle_down(x[i], 1);"
    x, y = run("metal", body)
    beyond = np.arange(64) % 32 == 31
    assert np.array_equal(np.isnan(y), beyond)
    assert np.array_equal(y[~beyond], np.roll(x, -1)[~beyond])


@pytest.mark.parametrize(
    ("call", "lanes"),
    [
        ("__shfl_sync(0, x[i], 5, 32)", lambda t: 5),
        ("__shfl_sync(0, x[i], 5, 8)", lambda t: t // 8 * 8 + 5),
        ("__shfl_up_sync(0, x[i], 3, 8)", lambda t: t - 3 if t % 8 >= 3 else t),
        ("__shfl_down_sync(0, x[i], 3, 8)", lambda t: t + 3 if t % 8 < 5 else t),
        ("__shfl_xor_sync(0, x[i], 6, 8)", lambda t: t ^ 6),
        ("__shfl_xor_sync(0, x[i], 8, 8)", lambda t: t ^ 8 if t & 8 else t),
    ],
)
def test_shuffles_of_segments_return_values_of_their_lanes(call: str, lanes: Callable[[int], int]) -> None:
    x, y = run("cuda", f"  y[i] = {call};")
    assert np.array_equal(y, x[[t // 32 * 32 + lanes(t % 32) for t in range(64)]])


@kinds
def test_unreached_shuffle_is_named(kind: str) -> None:
    body = "  float v = x[i]; int d = 1;\n  if (t != 37) v = SHUFFLE(v, d);\n  y[i] = v;"
    with pytest.raises(RuntimeError) as caught:
        run(kind, body)
    line = FRAMES[kind].partition("BODY")[0].count("\n") + 2
    assert str(caught.value) == (
        "k, workgroup (0, 0, 0): of the subgroup that starts with thread 32, thread 37 does not reach the "
        f"shuffle in line {line}"
    )


@pytest.mark.parametrize("body", [ROTATION, SUM], ids=["barrier", "shuffle"])
def test_kernels_run_without_assembly(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options: Sequence[str] = (*program.OPTIONS, "-DGROUP_PORTABLE")
    with_assembly = run("cuda", body, 6400)
    monkeypatch.setattr(program, "OPTIONS", options)
    assert np.array_equal(run("cuda", body, 6400), with_assembly, equal_nan=True)
