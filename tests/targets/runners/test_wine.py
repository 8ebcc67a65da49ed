"""The runner under Wine; test_served.py covers what all runners share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm_ffi
from elsewhere import library_of, obstacle, recipe_of
from small_kernels import scaled

from kokoro_tvm.common.errors import BuildError, BundleError
from kokoro_tvm.kernels.base.expressions import Cast
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.targets import find_runner, tools_for
from kokoro_tvm.targets.runners.wine import WINE, Wine

pytestmark = pytest.mark.slow("runs code for Windows in Wine")

RECIPE = "windows-x86-64"
needs_wine = pytest.mark.skipif(obstacle(RECIPE) is not None, reason=str(obstacle(RECIPE)))
X = np.linspace(-1, 1, 64, dtype=np.float32)
Runtime = Callable[[str], list[Path]]


@needs_wine
def test_wine_runs_windows_code_in_its_own_folder(
    runner_runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is empty at first and removed afterwards; the user's Wine is not used."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("WINEPREFIX", str(tmp_path / "users"))
    server = WINE.serve(runner_runtime(RECIPE), 2)
    (built,) = (path for path in tmp_path.iterdir() if path.name.startswith("kokoro-tvm-wine-"))
    assert sum(path.lstat().st_size for path in built.rglob("*")) < 1 << 20
    path = library_of(RECIPE, scaled(), tmp_path)
    number = server.open(path, "module")
    _, y = server.call(number, "scaled", [X, np.zeros(64, np.float32)], result="arguments")
    server.close()
    assert not built.exists()
    assert not (tmp_path / "users").exists()
    # Wine's own expf; everything else is the same code.
    here = np.zeros(64, np.float32)
    native = library_of("x86-64-v3", scaled(), tmp_path, "native")
    tvm_ffi.load_module(str(native))["scaled"](*map(tvm_ffi.from_dlpack, (X.copy(), here)))
    assert np.allclose(y, here, rtol=1e-6)


@needs_wine
def test_function_may_use_more_than_a_page_of_stack(runner_runtime: Runtime, tmp_path: Path) -> None:
    """Windows grows the stack page by page, so such a function calls `__chkstk` first."""
    path = library_of(RECIPE, reordered(), tmp_path)
    assert b"__chkstk" in path.read_bytes()
    server = WINE.serve(runner_runtime(RECIPE), 2)
    at = np.random.default_rng(1).permutation(200).astype(np.int32)
    x = np.arange(1600, dtype=np.float32).reshape(8, 200)
    *_, y = server.call(
        server.open(path, "module"), "reordered", [at, x, np.zeros_like(x)], result="arguments"
    )
    server.close()
    assert np.array_equal(y[:, at], x)


def reordered() -> Any:
    """Return a kernel y[r, at[i]] = x[r, i] with eight arrays that stay on the stack."""
    k = CpuKernel("reordered", 1)
    with k:
        at, x, y = k.param("at", (200,), "int32"), k.param("x", (8, 200)), k.param("y", (8, 200))
        rows = [k.registers(200) for _ in range(8)]
        for number, row in enumerate(rows):
            with k.loop(200) as i:
                k.store(row, k.load(x, number, i), Cast("int64", at[i]))
        for number, row in enumerate(rows):
            with k.loop(200) as i:
                k.store(y, k.load(row, i), number, i)
    return k.build()


@needs_wine
def test_library_of_another_platform_is_refused(runner_runtime: Runtime, tmp_path: Path) -> None:
    server = WINE.serve(runner_runtime(RECIPE), 2)
    elf = library_of("x86-64-v3", scaled(), tmp_path)
    with pytest.raises(BundleError, match=r"wine \S+ could not load scaled.so"):
        server.open(elf, "module")
    with pytest.raises(RuntimeError, match="invalid ELF header"):
        tvm_ffi.load_module(str(library_of(RECIPE, scaled(), tmp_path, "scaled").rename(tmp_path / "dll.so")))
    server.close()


def test_version_names_the_missing_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("kokoro_tvm.targets.runners.wine._LOADERS", (str(tmp_path / "wine64"),))
    with pytest.raises(BuildError) as caught:
        Wine().version()
    for word in ("wine64", "apt-get install wine64", "run: false"):
        assert word in str(caught.value)
    assert caught.value.exit_code == 3
    assert str(Wine().check()) == str(caught.value)


@needs_wine
def test_check_names_the_missing_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    loader = WINE.program
    monkeypatch.setattr("kokoro_tvm.targets.runners.wine._LOADERS", (loader,))
    monkeypatch.setenv("PATH", "")
    assert "apt-get install gcc-mingw-w64-x86-64" in str(Wine().check())


def test_find_runner_requires_the_architecture_of_windows_code(monkeypatch: pytest.MonkeyPatch) -> None:
    target = recipe_of(RECIPE).target.model_dump(mode="json")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert find_runner(target) == (WINE, "")
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert find_runner(target) == (None, "nothing on this machine runs code for llvm x86-64-v3")


def test_lacking_checks_this_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wine executes code on this CPU."""
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("kokoro_tvm.targets.cpu_tools.features_of_cpu", lambda: frozenset({"sse2", "avx"}))
    assert "avx2" in tools_for(recipe_of(RECIPE).target).list_lacking_features("float32")
