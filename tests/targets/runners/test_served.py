"""Behaviour that all runners with a server process share: kernels, arrays and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elsewhere import library_of, machine_for, obstacle, runner_of
from small_kernels import beyond, halved, scaled

from kokoro_tvm.common.cpu_features import PORTABLE
from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.targets.runners.process import RunnerProcess

pytestmark = pytest.mark.slow("runs code for other machines")

RUN = ("x86-64-v2", "windows-x86-64", "macos-arm64", "wasm")
# No memory can be forbidden there, so what is written into it is looked for.
LEAVING = {"wasm": "beyond wrote outside its argument 1"}
X = np.linspace(-1, 1, 64, dtype=np.float32)
EXPECTED = np.exp(X) * np.float32(3) + X
Serve = Callable[[], RunnerProcess]


@pytest.fixture(scope="module", params=RUN)
def recipe(request: pytest.FixtureRequest) -> str:
    if reason := obstacle(request.param):
        pytest.skip(reason)
    return str(request.param)


@pytest.fixture(scope="module")
def serve(recipe: str, runner_runtime: Callable[[str], list[Path]]) -> Serve:
    return lambda: runner_of(recipe).serve(runner_runtime(recipe), 2)


@pytest.fixture(scope="module")
def server(serve: Serve) -> Iterator[RunnerProcess]:
    """Return a server that several tests share, which must not end it."""
    server = serve()
    yield server
    server.close()


def call(server: RunnerProcess, path: Path, *arguments: Any, **options: Any) -> tuple[np.ndarray, ...]:
    return server.call(server.open(path, "module"), path.stem, arguments, result="arguments", **options)


def test_kernel_computes_the_expected_result(recipe: str, server: RunnerProcess, tmp_path: Path) -> None:
    path = library_of(recipe, scaled(), tmp_path)
    _, y = call(server, path, X, np.full(64, np.nan, np.float32))
    assert np.allclose(y, EXPECTED, rtol=1e-5)


def test_array_can_be_kept(recipe: str, server: RunnerProcess, tmp_path: Path) -> None:
    number = server.open(library_of(recipe, scaled(), tmp_path), "module")
    kept = server.keep(X)
    for _ in range(2):
        x, y = server.call(number, "scaled", [kept, np.zeros(64, np.float32)], result="arguments")
        assert np.array_equal(x, X)
        assert np.allclose(y, EXPECTED, rtol=1e-5)


def test_libraries_may_have_functions_of_equal_names(
    recipe: str, server: RunnerProcess, tmp_path: Path
) -> None:
    """The buckets of a component do."""
    for kernel, expected in ((scaled(), EXPECTED), (halved(), X / 2), (scaled(), EXPECTED)):
        number = server.open(library_of(recipe, kernel, tmp_path, f"library-{expected[0]}"), "module")
        _, y = server.call(number, "scaled", [X, np.zeros(64, np.float32)], result="arguments")
        assert np.allclose(y, expected, rtol=1e-5)


def test_access_outside_of_arguments_ends_the_server(recipe: str, serve: Serve, tmp_path: Path) -> None:
    path = library_of(recipe, beyond(), tmp_path)
    arguments = [np.ones(4, np.float32), np.zeros(4, np.float32)]
    server = serve()
    reason = LEAVING.get(recipe, "it was ended by signal SIGSEGV")
    with pytest.raises(BundleError, match=f"could not run beyond: {reason}") as caught:
        call(server, path, *arguments, place="end")
    assert caught.value.exit_code == 5
    assert server.name in str(caught.value)


def test_tvm_error_is_reported_and_the_server_continues(
    recipe: str, server: RunnerProcess, tmp_path: Path
) -> None:
    with pytest.raises(BundleError, match=r"could not load none.so: .*none.so"):
        server.open(tmp_path / "none.so", "module")
    path = library_of(recipe, scaled(), tmp_path)
    with pytest.raises(BundleError, match=r"could not run scaled: .*argument"):
        call(server, path, X)
    _, y = call(server, path, X, np.zeros(64, np.float32))
    assert np.allclose(y, EXPECTED, rtol=1e-5)


def test_features_are_those_of_the_emulated_cpu(recipe: str, server: RunnerProcess) -> None:
    """An emulated program would read the host's /proc/cpuinfo."""
    assert set(machine_for(recipe).required) <= server.features()
    if recipe in PORTABLE:
        assert server.features() == PORTABLE[recipe]
