"""Barriers of kernels run from source: missing ones, races, unreached ones."""

from __future__ import annotations

import numpy as np
import pytest
from source_kernels import (
    FRAMES,
    ROTATION,
    code_of,
    kinds,
    launch,
    rotated,
    run,
)

from kokoro_tvm.targets.runners.source.program import Order, load

pytestmark = pytest.mark.slow("compiles kernels for GPUs as C++")


@kinds
@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("cores", [1, 2])
def test_correct_kernel_is_independent_of_order(kind: str, order: Order, cores: int) -> None:
    x, y = run(kind, ROTATION, 20011, order=order, cores=cores)
    assert np.array_equal(y, rotated(x))


@kinds
def test_missing_barrier_depends_on_order(kind: str) -> None:
    body = ROTATION.replace("BARRIER", "")
    kernels = load(code_of(kind, body.replace("(t + 63) % 64", "t > 0 ? t - 1 : 0")))
    x = np.arange(64, dtype=np.float32)
    want = np.maximum(x - 1, 0)
    right = []
    for order in (Order.FORWARDS, Order.BACKWARDS, Order.SHUFFLED):
        kernels["choose"](int(order), 1)
        right.append(np.array_equal(launch(kernels, x, np.zeros(64, np.float32)), want))
    assert right == [True, False, False]
    kernels["choose"](int(Order.EACH_LAUNCH_ANOTHER), 1)
    turns = [np.array_equal(launch(kernels, x, np.zeros(64, np.float32)), want) for _ in range(3)]
    assert turns == right


@kinds
def test_missing_barrier_before_reuse_depends_on_order(kind: str) -> None:
    body = """
  float sum = 0.0f;
  for (int r = 0; r < 3; ++r) {
    s[t] = x[i] + r;
    BARRIER
    sum += s[63 - t];
    BARRIER
  }
  y[i] = sum;
"""
    x, y = run(kind, body)
    assert np.allclose(y, 3 * x[::-1] + 3, atol=1e-5)
    _, y = run(kind, body.replace("    BARRIER\n  }", "  }"))
    assert not np.allclose(y, 3 * x[::-1] + 3, atol=1e-5)


@kinds
@pytest.mark.parametrize("races", [False, True])
def test_shared_memory_can_be_read_as_another_type(kind: str, races: bool) -> None:
    """TVM prints arrays of equal size at one place like this."""
    at = f"(({'threadgroup ' if kind == 'metal' else ''}uint*)s)["
    body = f"  {at}t] = (uint)(t + 1);\n  BARRIER\n  y[i] = (float)({at}63 - t] * 2u);"
    kernels = load(code_of(kind, body), races=races)
    y = launch(kernels, np.zeros(64, np.float32), np.zeros(64, np.float32))
    assert np.array_equal(y, np.arange(128, 0, -2))


RACES = {
    "a read before the write is awaited": ("BARRIER", "", "threads 0 and 1 are both at element 0 of"),
    "the same value written by two": ("s[t] =", "s[t / 2] =", "threads 0 and 1 are both at element 0 of"),
    "written again while others read": ("if (i < n)", "s[t] = 0.0f;\n  if (i < n)", "are both at element"),
}


@kinds
@pytest.mark.parametrize("mistake", RACES)
def test_races_are_detected_in_every_order(kind: str, mistake: str) -> None:
    before, after, words = RACES[mistake]
    right = load(code_of(kind, ROTATION), races=True)
    wrong = load(code_of(kind, ROTATION.replace(before, after)), races=True)
    x = np.ones(6400, np.float32)
    for order in (Order.FORWARDS, Order.BACKWARDS, Order.SHUFFLED):
        for kernels in (right, wrong):
            kernels["choose"](int(order), 1)
        assert np.array_equal(launch(right, x, np.zeros(6400, np.float32)), x)
        with pytest.raises(RuntimeError, match=words if order == Order.FORWARDS else "one writes it"):
            launch(wrong, x, np.zeros(6400, np.float32))


@kinds
def test_unreached_barrier_is_named(kind: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        run(
            kind,
            "\n  if (t < 40) { s[t] = 1.0f;\n  BARRIER }\n  if (i < n) y[i] = s[0];",
            130,
            order=Order.BACKWARDS,
        )
    line = FRAMES[kind].partition("BODY")[0].count("\n") + 3
    assert str(caught.value) == (
        f"k, workgroup (2, 0, 0): thread 40 ends without reaching the barrier in line {line}, where 40 of 64 "
        "threads wait"
    )


@kinds
def test_barriers_of_two_branches_differ(kind: str) -> None:
    body = "  if (t < 32) {\n  BARRIER\n  } else {\n  BARRIER\n  }"
    with pytest.raises(RuntimeError, match=r"thread 0 waits at the barrier in line \d+, others at"):
        run(kind, body)


def test_modules_have_separate_orders() -> None:
    body = ROTATION.replace("BARRIER", "").replace("(t + 63) % 64", "t > 0 ? t - 1 : 0")
    forwards, backwards = (
        load(code_of("cuda", body), order, 1) for order in (Order.FORWARDS, Order.BACKWARDS)
    )
    x = np.arange(64, dtype=np.float32)
    results = [launch(kernels, x, np.zeros(64, np.float32)) for kernels in (forwards, backwards)]
    assert not np.array_equal(*results)


@kinds
def test_kernel_runs_after_a_failure(kind: str) -> None:
    kernels = load(code_of(kind, ROTATION.replace("BARRIER", "if (n == 64 || t < 8) BARRIER")))
    x, y = np.ones(63, np.float32), np.zeros(63, np.float32)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="ends without reaching"):
            launch(kernels, x, y)
        whole = np.arange(64, dtype=np.float32)
        assert np.array_equal(launch(kernels, whole, np.zeros(64, np.float32)), rotated(whole))
