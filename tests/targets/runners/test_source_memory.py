"""Memory of kernels run from source: uninitialized, out of bounds, tails; and inexact functions."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
from collections.abc import Callable

import numpy as np
import pytest
from source_kernels import (
    SUM,
    code_of,
    kinds,
    launch,
    run,
)

from kokoro_tvm.targets.runners.source.program import load

pytestmark = pytest.mark.slow("compiles kernels for GPUs as C++")


@kinds
def test_uninitialized_shared_memory_is_poisoned(kind: str) -> None:
    body = "  if (t < 63) s[t] = x[i];\n  BARRIER\n  y[i] = s[63 - t];"
    x, y = run(kind, body)
    assert np.isnan(y[0])
    assert np.array_equal(y[1:], x[62::-1])


@kinds
def test_uninitialized_registers_are_poisoned(kind: str) -> None:
    _, y = run(kind, "  float sums[4];\n  sums[t % 3] += x[i];\n  y[i] = sums[t % 4];")
    assert np.all(np.abs(y) > 1e30)


@kinds
@pytest.mark.parametrize("index", ["64", "-1"])
def test_write_outside_of_shared_memory_is_detected(kind: str, index: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        run(kind, f"  s[t == 63 ? {index} : t] = x[i];\n  BARRIER\n  y[i] = s[t];")
    assert str(caught.value) == "k, workgroup (0, 0, 0): it writes outside its shared arrays"


def before_a_guard(x: np.ndarray) -> np.ndarray:
    """Copy an array to the end of accessible memory."""
    size = -(-x.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, size + mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + size), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    copy = np.frombuffer(memory, x.dtype, x.size, size - x.nbytes)
    copy[...] = x
    return copy


def ended_by(call: Callable[[], object]) -> int:
    """Call something in a child process and return the signal that ended it, 0 for none."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        try:
            call()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


@kinds
@pytest.mark.parametrize(("bound", "ends"), [("n", 0), ("n + 1", signal.SIGSEGV)])
def test_index_off_by_one_at_the_last_tile_hits_the_guard(kind: str, bound: str, ends: int) -> None:
    kernels = load(code_of(kind, f"  if (i < {bound}) y[i] = x[i];"), cores=1)
    x = before_a_guard(np.ones(100, np.float32))
    assert ended_by(lambda: launch(kernels, x, before_a_guard(np.zeros(100, np.float32)))) == ends


@kinds
@pytest.mark.parametrize(("mask", "finite"), [("i < n", True), ("i < (n + 7) / 8 * 8", False)])
def test_unmasked_tail_changes_the_result(kind: str, mask: str, finite: bool) -> None:
    kernels = load(code_of(kind, SUM.replace("i < n", mask)))
    x = np.full(64, np.nan, np.float32)
    x[:37] = 1
    y = launch(kernels, x[:37], np.zeros(2, np.float32))
    assert list(np.isfinite(y)) == [True, finite]
    assert y[0] == 32
    assert not finite or y[1] == 5


@pytest.mark.parametrize(
    ("kind", "call"),
    [("cuda", "sinf(x[i])"), ("cuda", "__sinf(x[i])"), ("metal", "sin(x[i])")],
)
def test_rough_sine_has_the_allowed_error(kind: str, call: str) -> None:
    x, y = run(kind, f"  if (i < n) y[i] = {call};", 1000)
    error = np.abs(y - np.sin(x.astype(np.float64)))
    assert error.min() > 2.0**-12
    assert error.max() <= 2.0**-11
