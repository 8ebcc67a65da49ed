"""Largest error of every elementary function, polynomial and rounding together, compared with float64."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from kept import native_kernel

from kokoro_tvm.kernels.base import math as _math
from kokoro_tvm.kernels.base.expressions import ceildiv
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.gpu.kernel import GpuKernel
from kokoro_tvm.targets import Machine, tvm_target

from .emulated import EmulatedKernel, emulated
from .on_gpu import GPUS, on_gpu
from .support import machines

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": _math.sin,
    "sin_squared": _math.sin_squared,
    "sin_squared_of_half_turns": _math.sin_squared_of_half_turns,
    "sin_turns": lambda k, x: _math.sin_cycles(k, _math.reduce_cycles(k, x)),
    "sin_unit": _math.sin_unit,
    "cos_unit": _math.cos_unit,
    "exp": _math.exp,
    "sigmoid": _math.sigmoid,
    "tanh": _math.tanh,
    "atan2": _math.atan2,
}


def elementwise(name: str, arguments: int, machine: Machine) -> Any:
    if machine.kind in GPUS:
        return elementwise_on_gpu(name, arguments, machine)
    k = CpuKernel(name, machine.features.lanes)
    with k:
        inputs = [k.param(f"x{i}", ("n",)) for i in range(arguments)]
        y = k.param("y", ("n",))

        def body(at: Any, width: int) -> None:
            values = [k.let(k.load(x, at, lanes=width)) for x in inputs]
            k.store(y, _FUNCTIONS[name](k, *values), at, lanes=width)

        k.vectorize(y.shape[0], body)
    return k.build()


def elementwise_on_gpu(name: str, arguments: int, machine: Machine) -> Any:
    k = GpuKernel(name, machine.features)
    with k:
        inputs = [k.param(f"x{i}", ("n",)) for i in range(arguments)]
        y = k.param("y", ("n",))
        n = y.shape[0]
        with k.launch(256, ceildiv(n, 256)) as (thread, group):
            at = k.let(group * 256 + thread)
            with k.when(at < n):
                k.store(y, _FUNCTIONS[name](k, *(k.let(x[at]) for x in inputs)), at)
    return k.build()


@cache
def compiled(name: str, arguments: int, machine: Machine) -> Any:
    kernel = elementwise(name, arguments, machine)
    if (elsewhere := emulated(machine, kernel)) is not None:
        return elsewhere
    if (on_device := on_gpu(machine, kernel)) is not None:
        return on_device
    return native_kernel(kernel, machine)


def apply(name: str, machine: Machine, *arguments: np.ndarray) -> np.ndarray:
    result = np.full(arguments[0].shape, np.nan, np.float32)
    kernel = compiled(name, len(arguments), machine)
    if isinstance(kernel, EmulatedKernel):
        (result,) = kernel(arguments, [result], "end")
    elif machine.kind in GPUS:
        kernel(*arguments, result)
    else:
        kernel(*map(tvm_ffi.from_dlpack, (*arguments, result)))
    return result


def spread(low: float, high: float, count: int = 1_000_003) -> np.ndarray:
    """Return values from low to high and, if the range contains zero, ever smaller ones around it."""
    values = np.linspace(low, high, count).astype(np.float32)
    if low < 0 < high:
        tiny = np.geomspace(1e-30, min(-low, high), 100_000).astype(np.float32)
        values = np.concatenate([values, tiny, -tiny, [0.0]]).astype(np.float32)
    return np.clip(values, np.float32(low), np.float32(high))


def slack(machine: Machine) -> float:
    """Return the factor by which an error may be larger on a machine."""
    # TVM fuses products and sums for WebGPU, and WebAssembly rounds both, which adds up to a ninth.
    return 1.12 if machine.kind == "webgpu" or "simd128" in machine.required else 1.0


@machines
@pytest.mark.parametrize(
    ("name", "low", "high", "truth", "limit"),
    [
        ("sin", -10, 10, np.sin, 1.2e-7),
        ("sin", -5000, 5000, np.sin, 1.2e-7),
        ("sin_squared", -5000, 5000, lambda x: np.sin(x) ** 2, 2.5e-7),
        ("sin_squared_of_half_turns", -100, 100, lambda x: np.sin(np.pi * x) ** 2, 7e-7),
        ("sin_turns", 0, 1, lambda x: np.sin(2 * np.pi * x), 1.8e-7),
        ("sin_unit", -np.pi / 2, np.pi / 2, np.sin, 1.2e-7),
        ("cos_unit", -1, 1, np.cos, 8e-8),
        ("sigmoid", -200, 200, lambda x: 1 / (1 + np.exp(-x)), 1e-7),
        ("tanh", -200, 200, np.tanh, 1.8e-7),
    ],
)
def test_math_absolute_error_is_bounded(
    name: str, low: float, high: float, truth: Callable[[Any], Any], limit: float, machine: Machine
) -> None:
    x = spread(low, high)
    error = np.abs(apply(name, machine, x) - truth(x.astype(np.float64)))
    assert error.max() <= limit * slack(machine), f"{error.max():.3e} at {x[error.argmax()]!r}"


@machines
@pytest.mark.parametrize(
    ("name", "low", "high", "truth", "limit"),
    [
        ("exp", -87, 87, np.exp, 1.3e-7),
        ("tanh", -200, 200, np.tanh, 2.5e-7),
        ("sin_unit", -np.pi / 2, np.pi / 2, np.sin, 1.2e-7),
        ("sin_squared", -1.5, 1.5, lambda x: np.sin(x) ** 2, 2.5e-7),
        ("sigmoid", -80, 80, lambda x: 1 / (1 + np.exp(-x)), 2e-7),
    ],
)
def test_math_relative_error_is_bounded(
    name: str, low: float, high: float, truth: Callable[[Any], Any], limit: float, machine: Machine
) -> None:
    x = spread(low, high)
    want = truth(x.astype(np.float64))
    near = np.abs(want) > 1e-35
    error = np.abs(apply(name, machine, x) - want)[near] / np.abs(want[near])
    assert error.max() <= limit * slack(machine), f"{error.max():.3e} at {x[near][error.argmax()]!r}"


@machines
def test_exp_saturates(machine: Machine) -> None:
    x = np.array([-np.inf, -1e30, -88, 88, 1e30, np.inf] * 4, np.float32)
    actual = apply("exp", machine, x)
    assert np.array_equal(actual, apply("exp", machine, np.clip(x, -87, 87)))
    assert (actual[:3] < 2e-38).all()
    assert np.isfinite(actual).all()


@machines
def test_math_is_exact_at_range_ends(machine: Machine) -> None:
    ends = np.array([-np.inf, -100.0, 0.0, 100.0, np.inf] * 4, np.float32)
    assert np.array_equal(apply("tanh", machine, ends)[:5], [-1, -1, 0, 1, 1])
    assert np.array_equal(apply("exp", machine, np.zeros(17, np.float32)), np.ones(17))
    assert np.array_equal(apply("sin", machine, np.zeros(17, np.float32)), np.zeros(17))
    sigmoids = apply("sigmoid", machine, ends)[:5]
    assert np.array_equal(sigmoids[2:], [0.5, 1, 1])
    assert (sigmoids[:2] < 1e-37).all()


@machines
def test_atan2_matches_numpy(machine: Machine) -> None:
    """Cover the circle at magnitudes from 1e-15 to 1e15 and at all ratios."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(-np.pi, np.pi, 1_000_003)
    size = 10 ** rng.uniform(-15, 15, angle.size)
    y, x = (size * np.sin(angle)).astype(np.float32), (size * np.cos(angle)).astype(np.float32)
    error = np.abs(apply("atan2", machine, y, x) - np.arctan2(y.astype(np.float64), x.astype(np.float64)))
    assert error.max() <= 3e-7
    ratio = 10 ** rng.uniform(-20, 20, 100_003)
    y, x = ratio.astype(np.float32), np.ones(ratio.size, np.float32)
    error = np.abs(apply("atan2", machine, y, x) - np.arctan2(y.astype(np.float64), 1.0))
    assert error.max() <= 2e-7


@machines
def test_atan2_is_exact_on_axes(machine: Machine) -> None:
    """Expect that a zero y counts as +0, whatever its sign: +pi on the negative side, never -pi."""
    y = np.array([0.0, -0.0, 0.0, -0.0, 1.0, -1.0, 0.0, -0.0], np.float32)
    x = np.array([1.0, 1.0, -1.0, -1.0, 0.0, 0.0, 0.0, 0.0], np.float32)
    pi, half = np.float32(math.pi), np.float32(math.pi / 2)
    assert np.array_equal(apply("atan2", machine, y, x), [0, 0, pi, pi, half, -half, 0, 0])


@machines
@pytest.mark.parametrize("name", ["sin", "sin_squared", "exp", "sigmoid", "tanh", "sin_turns"])
def test_math_vectors_match_scalars(name: str, machine: Machine) -> None:
    """Compare vectors with single values, which elements after the last whole vector are."""
    # Masked and exact kernels must agree on them.
    x = np.random.default_rng(1).uniform(0, 1, 4 * machine.features.lanes - 1).astype(np.float32)
    together = apply(name, machine, x)
    assert np.array_equal(
        together, np.concatenate([apply(name, machine, x[i : i + 1]) for i in range(x.size)])
    )


@machines
@pytest.mark.parametrize("name", _FUNCTIONS)
def test_math_does_not_call_libm(name: str, machine: Machine) -> None:
    """Search the code for calls of libm."""
    # A library function would be called lane by lane, and a GPU's own may be inexact. RV64GC, of one lane,
    # has no instruction that rounds.
    if machine.kind in GPUS:
        called = re.findall(r"\b(\w+)\(", compiled(name, 1 + (name == "atan2"), machine).code.source)
        assert f"{name}_kernel" in called, "the pattern finds no call at all"
        assert not [word for word in called if re.fullmatch(r"_*a?(sin|cos|tan|exp|pow|log)[h\d]*f?", word)]
        return
    module = tvm.compile(
        tvm.IRModule({name: elementwise(name, 2 if name == "atan2" else 1, machine)}),
        target=tvm_target(machine),
    ).mod
    calls = re.findall(r"^\s+(?:call\w*|bl)\s+\*?([\w@.%()]+)", module.inspect_source("asm"), re.MULTILINE)
    assert calls, "the pattern finds no call at all"
    mark = "_" if "apple" in machine.options["mtriple"] else ""  # of every symbol there
    expected = mark + r"(__tvm|TVM)|.*_compute_$" + (r"|nearbyintf$" if machine.features.lanes == 1 else "")
    assert not [c for c in calls if not re.match(expected, c)]
