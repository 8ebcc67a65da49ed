"""WebGPU kernels on Vulkan."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from devices import on_device
from wgsl import ROTATION, WRITES, code_of, rotated

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.targets.runners import wgpu_kernels
from kokoro_tvm.targets.runners.wgpu import WGPU
from kokoro_tvm.targets.runners.wgpu_adapter import adapter

pytestmark = pytest.mark.slow("runs kernels for GPUs on Vulkan")


@pytest.fixture
def vulkan() -> None:
    if (reason := WGPU.check()) is not None:
        pytest.skip(reason)


needs_vulkan = pytest.mark.usefixtures("vulkan")


def launch(
    kernels: Any, x: np.ndarray, y: np.ndarray, scale: float = 1.0, most: int = 0, extents: Sequence[int] = ()
) -> np.ndarray:
    for array in (x, y):
        on_device(array, "webgpu")
    at = [ctypes.c_void_p(array.ctypes.data) for array in (x, y)]
    kernels["k"](at[0], len(x), at[1], scale, most, *(extents or (-(-len(x) // 64), 64)))
    return y


@needs_vulkan
@pytest.mark.parametrize("n", [1, 64, 1000])
def test_launch_passes_arguments_of_every_kind(n: int) -> None:
    x = np.random.default_rng(0).standard_normal(n).astype(np.float32)
    kernels = wgpu_kernels.load(code_of(ROTATION))
    for scale, most in ((0.5, 3), (-2.0, (1 << 32) - 1)):
        y = launch(kernels, x, np.zeros(n, np.float32), scale, most)
        assert np.allclose(y, rotated(x) * np.float32(scale) + np.float32(most), rtol=1e-6)


@needs_vulkan
def test_modules_have_separate_kernels() -> None:
    kernels = [
        wgpu_kernels.load(code_of(f"  if (i < podArgs.n) {{ y[i] = x[i] + {k}.0f; }}")) for k in (1, 2)
    ]
    x = np.ones(3, np.float32)
    assert [launch(k, x, np.zeros(3, np.float32))[0] for k in kernels] == [2, 3]


@needs_vulkan
def test_launch_folds_large_grids() -> None:
    n = 64 * 65537 - 5
    x = np.arange(n, dtype=np.float32) % 1000
    y = launch(wgpu_kernels.load(code_of(ROTATION)), x, np.full(n, np.nan, np.float32))
    assert np.array_equal(y, rotated(x))


@pytest.mark.parametrize(
    ("groups", "grid"),
    [(1, (1, 1)), (65535, (65535, 1)), (65536, (32768, 2)), (65537, (32769, 2)), (200001, (50001, 4))],
)
def test_split_grid_folds_grids_as_tvmjs(groups: int, grid: tuple[int, int]) -> None:
    assert wgpu_kernels.split_grid(groups) == grid


@needs_vulkan
def test_load_quotes_the_compilers_message() -> None:
    with pytest.raises(BuildError, match=r"wgpu .* refuses the kernel k: (.|\n)*unknown_thing"):
        wgpu_kernels.load(code_of("  y[i] = unknown_thing(x[i]);"))


@needs_vulkan
def test_launch_refuses_a_grid_along_z() -> None:
    tags = ("blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", WRITES)
    kernels = wgpu_kernels.load(code_of(ROTATION, tags))
    x = np.ones(3, np.float32)
    with pytest.raises(RuntimeError, match=r"k on WebGPU: blockIdx\.z is not a kernel's own"):
        launch(kernels, x, x.copy(), extents=(1, 1, 2, 64))


def test_adapter_names_the_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wgpu", None)
    with pytest.raises(BuildError, match=r"pip install 'kokoro-tvm\[webgpu\]'"):
        adapter.__wrapped__()


@needs_vulkan
def test_adapter_prints_nothing() -> None:
    """Outside of a desktop session, EGL misses a folder."""
    code = "from kokoro_tvm.targets.runners.wgpu import WGPU; print(WGPU.version())"
    environment = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    process = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert process.stdout == f"{WGPU.version()}\n"
    assert process.stderr == ""
