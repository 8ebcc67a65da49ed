"""Kernels in CUDA and Metal for the tests of the source runner."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from kokoro_tvm.runtime.bundle.device_code import DeviceCode, DeviceFunction
from kokoro_tvm.targets.runners.source.program import Order, load

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
    """Return x and the kernel's output."""
    x = np.random.default_rng(0).standard_normal(n).astype(np.float32)
    y = np.full(n if results is None else results, np.nan, np.float32)
    return x, launch(load(code_of(kind, body), order, cores), x, y)


def rotated(x: np.ndarray) -> np.ndarray:
    whole = np.zeros(-(-len(x) // 64) * 64, np.float32)
    whole[: len(x)] = x
    return np.roll(whole.reshape(-1, 64), 1, axis=1).reshape(-1)[: len(x)]
