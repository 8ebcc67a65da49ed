"""Benchmarks of the kernels, at the sizes they have for 2.5 s of speech.

`pytest tests/kernels/benchmarks --benchmark-enable` measures all of them. Without it each family runs once,
untimed, so that they keep working.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tvm_ffi
from pytest_benchmark.fixture import BenchmarkFixture

from kernels.support import NATIVE, Attributes, Tensors, prepared
from kokoro_tvm.runtime.session.tvm_runtime import use_threads
from kokoro_tvm.runtime.threads import choose_threads
from kokoro_tvm.targets import Machine

Kernel = Callable[..., None]

_RATES = pytest.StashKey[list[tuple[str, dict[str, float]]]]()


@pytest.fixture
def kernel(benchmark: BenchmarkFixture, request: pytest.FixtureRequest) -> Kernel:
    """Times an operation's kernel: `kernel(operation, tensors, attributes, flops=...)`."""

    def measure(
        operation: str,
        tensors: Tensors,
        attributes: Attributes | None = None,
        *,
        flops: int,
        moments: bool = False,
        machine: Machine = NATIVE,
    ) -> None:
        """flops: multiplications and additions of the definition, whatever the kernel makes of it."""
        function, arrays, results = prepared(operation, tensors, attributes, moments=moments, machine=machine)
        arguments = [tvm_ffi.from_dlpack(array) for array in (*arrays, *results)]
        use_threads(choose_threads(None))
        benchmark(function, *arguments)
        if benchmark.stats is None:
            return
        seconds = benchmark.stats.stats.median
        size = sum(array.nbytes for array in (*arrays, *results))
        rates = {"GFLOP/s": flops / seconds / 1e9, "GB/s": size / seconds / 1e9}
        benchmark.extra_info.update(rates)
        request.config.stash.setdefault(_RATES, []).append((request.node.name, rates))

    return measure


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where nothing is measured the first case of every family is enough, and slow."""
    if config.getoption("benchmark_enable"):
        return
    for item in items:
        if "benchmark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow("computes at the sizes of 2.5 s of speech"))
    seen: set[tuple[Path, str]] = set()
    kept, left = [], []
    for item in items:
        family = (item.path, getattr(item, "originalname", item.name))
        again = item.path.is_relative_to(Path(__file__).parent) and family in seen
        seen.add(family)
        (left if again else kept).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    rates = config.stash.get(_RATES, [])
    if rates:
        terminalreporter.section("rates (medians)")
    for name, result in rates:
        columns = "".join(f"{value:10.1f} {unit}" for unit, value in result.items())
        terminalreporter.write_line(f"{name:56}{columns}")
