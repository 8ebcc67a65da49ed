"""The source runner: kernels in CUDA's and Metal's text, and what it finds in those with a mistake."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from kokoro_tvm.errors import BuildError
from kokoro_tvm.runners.source import program
from kokoro_tvm.runners.source.program import Order, load
from kokoro_tvm.runtime.device_code import DeviceCode, DeviceFunction

CUDA = """
#define uint unsigned int
extern "C" __global__ void __launch_bounds__(64) k(float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ alignas(64) float s[64];
  __shared__ alignas(64) int unused[3];
  int t = (int)threadIdx.x;
  int i = (int)blockIdx.x * 64 + t;
BODY
}
"""
METAL = """#include <metal_stdlib>
using namespace metal;
union __TVMArgUnion { int v_int[2]; };
struct k_args_t { int n[2]; };
kernel void k(  device float* x [[ buffer(0) ]],
  device float* y [[ buffer(1) ]],
  constant k_args_t& arg [[ buffer(2) ]],
  uint blockIdx [[threadgroup_position_in_grid]],
  uint threadIdx [[thread_position_in_threadgroup]]
) {
  threadgroup float s[64];
  threadgroup int unused[3];
  int n = arg.n[0];
  int t = (int)threadIdx;
  int i = (int)blockIdx * 64 + t;
BODY
}
"""
FRAMES = {"cuda": CUDA, "metal": METAL}
BARRIERS = {
    "cuda": "__syncthreads();",
    "metal": "threadgroup_barrier(mem_flags::mem_threadgroup);",
}
kinds = pytest.mark.parametrize("kind", FRAMES)

# Each value becomes its left neighbour's of the same 64, the first one that of the last.
ROTATION = """
  s[t] = i < n ? x[i] : 0.0f;
  BARRIER
  float v = s[(t + 63) % 64];
  if (i < n) y[i] = v;
"""
SUM = """
  float v = i < n ? x[i] : 0.0f;
  for (int d = 16; d > 0; d /= 2) v += SHUFFLE(v, d);
  if (t % 32 == 0) y[i / 32] = v;
"""
SHUFFLES = {"cuda": "__shfl_down_sync(__activemask(), v, d, 32)", "metal": "simd_shuffle_down(v, d)"}


def code_of(kind: str, body: str) -> DeviceCode:
    text = FRAMES[kind].replace("BODY", body).replace("BARRIER", BARRIERS[kind])
    text = text.replace("SHUFFLE(v, d)", SHUFFLES[kind])
    function = DeviceFunction("k", ((3, 64, 1), (3, 64, 1), (0, 32, 1)), ("blockIdx.x", "threadIdx.x"), ())
    return DeviceCode(kind, kind, {"k": function}, {"" if kind == "cuda" else "k": text.encode()})


def launch(kernels: Any, x: np.ndarray, y: np.ndarray, threads: int = 64) -> np.ndarray:
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x, y)]
    kernels["k"](*pointers, len(x), -(-len(x) // 64), threads)
    return y


def run(
    kind: str,
    body: str,
    n: int = 64,
    results: int | None = None,
    order: Order = Order.FORWARDS,
    cores: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """x, and what the kernel made of it."""
    x = np.random.default_rng(0).standard_normal(n).astype(np.float32)
    y = np.full(n if results is None else results, np.nan, np.float32)
    return x, launch(load(code_of(kind, body), order, cores), x, y)


def rotated(x: np.ndarray) -> np.ndarray:
    whole = np.zeros(-(-len(x) // 64) * 64, np.float32)
    whole[: len(x)] = x
    return np.roll(whole.reshape(-1, 64), 1, axis=1).reshape(-1)[: len(x)]


@kinds
@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("cores", [1, 2])
def test_a_right_kernel_gives_the_same_in_every_order(kind: str, order: Order, cores: int) -> None:
    x, y = run(kind, ROTATION, 20011, order=order, cores=cores)
    assert np.array_equal(y, rotated(x))


@kinds
def test_a_missing_barrier_shows_in_another_order(kind: str) -> None:
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
def test_a_missing_barrier_before_memory_is_written_again_shows(kind: str) -> None:
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
def test_shared_memory_as_another_type(kind: str, races: bool) -> None:
    """As TVM prints arrays of one size that it puts in one place."""
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
def test_races_are_found_in_every_order(kind: str, mistake: str) -> None:
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
def test_threads_that_never_reach_a_barrier_are_named(kind: str) -> None:
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
def test_barriers_of_two_branches_are_not_one(kind: str) -> None:
    body = "  if (t < 32) {\n  BARRIER\n  } else {\n  BARRIER\n  }"
    with pytest.raises(RuntimeError, match=r"thread 0 waits at the barrier in line \d+, others at"):
        run(kind, body)


def test_modules_do_not_share_their_order() -> None:
    body = ROTATION.replace("BARRIER", "").replace("(t + 63) % 64", "t > 0 ? t - 1 : 0")
    forwards, backwards = (
        load(code_of("cuda", body), order, 1) for order in (Order.FORWARDS, Order.BACKWARDS)
    )
    x = np.arange(64, dtype=np.float32)
    got = [launch(kernels, x, np.zeros(64, np.float32)) for kernels in (forwards, backwards)]
    assert not np.array_equal(*got)


@kinds
def test_kernels_go_on_after_one_has_failed(kind: str) -> None:
    kernels = load(code_of(kind, ROTATION.replace("BARRIER", "if (n == 64 || t < 8) BARRIER")))
    x, y = np.ones(63, np.float32), np.zeros(63, np.float32)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="ends without reaching"):
            launch(kernels, x, y)
        whole = np.arange(64, dtype=np.float32)
        assert np.array_equal(launch(kernels, whole, np.zeros(64, np.float32)), rotated(whole))


@kinds
@pytest.mark.parametrize("order", [Order.FORWARDS, Order.BACKWARDS, Order.SHUFFLED])
def test_shuffles(kind: str, order: Order) -> None:
    x, y = run(kind, SUM, 128, 4, order)
    assert np.allclose(y, x.reshape(4, 32).sum(1), rtol=1e-5)


def test_a_shuffle_of_the_wrong_width_shows() -> None:
    x, y = run("cuda", SUM.replace("SHUFFLE(v, d)", "__shfl_down_sync(__activemask(), v, d, 16)"), 64, 2)
    assert not np.isclose(y, x.reshape(2, 32).sum(1), rtol=0.1).any()


def test_a_shuffle_from_beyond_the_subgroup_gives_poison() -> None:
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
def test_shuffles_of_segments(call: str, lanes: Callable[[int], int]) -> None:
    x, y = run("cuda", f"  y[i] = {call};")
    assert np.array_equal(y, x[[t // 32 * 32 + lanes(t % 32) for t in range(64)]])


@kinds
def test_a_lane_that_does_not_reach_a_shuffle_is_named(kind: str) -> None:
    body = "  float v = x[i]; int d = 1;\n  if (t != 37) v = SHUFFLE(v, d);\n  y[i] = v;"
    with pytest.raises(RuntimeError) as caught:
        run(kind, body)
    line = FRAMES[kind].partition("BODY")[0].count("\n") + 2
    assert str(caught.value) == (
        "k, workgroup (0, 0, 0): of the subgroup that starts with thread 32, thread 37 does not reach the "
        f"shuffle in line {line}"
    )


@kinds
def test_shared_memory_that_nobody_wrote_shows(kind: str) -> None:
    body = "  if (t < 63) s[t] = x[i];\n  BARRIER\n  y[i] = s[63 - t];"
    x, y = run(kind, body)
    assert np.isnan(y[0])
    assert np.array_equal(y[1:], x[62::-1])


@kinds
def test_registers_that_nobody_wrote_show(kind: str) -> None:
    _, y = run(kind, "  float sums[4];\n  sums[t % 3] += x[i];\n  y[i] = sums[t % 4];")
    assert np.all(np.abs(y) > 1e30)


@kinds
@pytest.mark.parametrize("index", ["64", "-1"])
def test_writes_beside_shared_memory_are_found(kind: str, index: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        run(kind, f"  s[t == 63 ? {index} : t] = x[i];\n  BARRIER\n  y[i] = s[t];")
    assert str(caught.value) == "k, workgroup (0, 0, 0): it writes outside its shared arrays"


def before_a_guard(x: np.ndarray) -> np.ndarray:
    """A copy that ends where memory ends."""
    size = -(-x.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, size + mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + size), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    copy = np.frombuffer(memory, x.dtype, x.size, size - x.nbytes)
    copy[...] = x
    return copy


def ended_by(call: Callable[[], object]) -> int:
    """The signal that ends a child of this process in which something is called; 0: none."""
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
def test_an_index_one_off_at_the_last_tile_ends_at_the_guard(kind: str, bound: str, ends: int) -> None:
    kernels = load(code_of(kind, f"  if (i < {bound}) y[i] = x[i];"), cores=1)
    x = before_a_guard(np.ones(100, np.float32))
    assert ended_by(lambda: launch(kernels, x, before_a_guard(np.zeros(100, np.float32)))) == ends


@kinds
@pytest.mark.parametrize(("mask", "finite"), [("i < n", True), ("i < (n + 7) / 8 * 8", False)])
def test_an_unmasked_tail_shows(kind: str, mask: str, finite: bool) -> None:
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
def test_the_hardwares_sine_is_as_inexact_as_one_may_be(kind: str, call: str) -> None:
    x, y = run(kind, f"  if (i < n) y[i] = {call};", 1000)
    error = np.abs(y - np.sin(x.astype(np.float64)))
    assert error.min() > 2.0**-12
    assert error.max() <= 2.0**-11


def test_where_there_is_no_compiler_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BuildError, match=r"no working g\+\+ to execute GPU .*apt-get install g\+\+"):
        load(code_of("cuda", ROTATION))


@kinds
def test_what_the_compiler_refuses_is_quoted(kind: str) -> None:
    with pytest.raises(BuildError) as caught:
        load(code_of(kind, "\n  y[i] = warp_speed(x[i]);"))
    line = FRAMES[kind].partition("BODY")[0].count("\n") + 2
    for words in (
        "refuses the kernels k for",
        f"{kind} source{' of k' if kind == 'metal' else ''}:{line}:",
        "warp_speed",
    ):
        assert words in str(caught.value)


@pytest.mark.parametrize("function", ["nearbyint", "erf"])
def test_functions_that_metal_lacks_are_refused(function: str) -> None:
    with pytest.raises(BuildError, match=rf"use of deleted function .*{function}"):
        load(code_of("metal", f"  y[i] = {function}(x[i]);"))


def test_machine_code_is_refused() -> None:
    code = DeviceCode("cuda", "cubin", {}, {"": b"\x7fELF"})
    with pytest.raises(BuildError, match="kernels for cuda as cubin have no source to execute"):
        load(code)


def test_an_unknown_parameter_is_refused() -> None:
    code = code_of("metal", ROTATION)
    text = code.source.replace("thread_position_in_threadgroup", "my own")
    with pytest.raises(
        BuildError, match=r"k: no value is known for its parameter uint threadIdx \[\[my own\]\]"
    ):
        load(DeviceCode("metal", "metal", code.functions, {"k": text.encode()}))


def test_an_unknown_kind_of_launch_is_refused() -> None:
    code = code_of("cuda", ROTATION)
    function = DeviceFunction("k", code.functions["k"].arguments, ("clusterIdx.x",), ())
    with pytest.raises(BuildError, match=r"k: a launch with clusterIdx\.x cannot be executed from source"):
        load(DeviceCode("cuda", "cuda", {"k": function}, code.code))


def test_too_many_threads_are_refused() -> None:
    kernels = load(code_of("cuda", ROTATION))
    x = np.ones(64, np.float32)
    with pytest.raises(RuntimeError, match="k: 1025 threads, a workgroup has at most 1024"):
        launch(kernels, x, x.copy(), threads=1025)


@pytest.mark.parametrize("body", [ROTATION, SUM], ids=["barrier", "shuffle"])
def test_without_assembly(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options: Sequence[str] = (*program.OPTIONS, "-DGROUP_PORTABLE")
    with_assembly = run("cuda", body, 6400)
    monkeypatch.setattr(program, "OPTIONS", options)
    assert np.array_equal(run("cuda", body, 6400), with_assembly, equal_nan=True)
