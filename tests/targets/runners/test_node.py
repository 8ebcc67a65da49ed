"""The runner in Node; test_served.py covers what all runners share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from elsewhere import library_of, obstacle
from small_kernels import scaled

from kokoro_tvm.common.errors import BuildError, BundleError
from kokoro_tvm.native.toolchains.zig import ZIG
from kokoro_tvm.targets.runners import node, served
from kokoro_tvm.targets.runners.node import NODE
from kokoro_tvm.targets.runners.process import Place, RunnerProcess

pytestmark = pytest.mark.slow("runs code for WebAssembly")

RECIPE = "wasm"
X = np.linspace(-1, 1, 64, dtype=np.float32)
needs_node = pytest.mark.skipif(obstacle(RECIPE) is not None, reason=str(obstacle(RECIPE)))


@pytest.fixture(scope="module")
def server(runner_runtime: Callable[[str], list[Path]]) -> Iterator[RunnerProcess]:
    server = NODE.serve(runner_runtime(RECIPE), 1)
    yield server
    server.close()


@needs_node
@pytest.mark.parametrize("place", ["aligned", "end", "start"])
def test_arrays_lie_at_the_requested_place(server: RunnerProcess, place: Place, tmp_path: Path) -> None:
    number = server.open(library_of(RECIPE, scaled(), tmp_path), "module")
    x, y = server.call(number, "scaled", [X, np.zeros(64, np.float32)], result="arguments", place=place)
    assert np.array_equal(x, X)
    assert np.allclose(y, np.exp(X) * 3 + X, rtol=1e-5)


@needs_node
def test_undefined_symbol_is_named_at_loading(server: RunnerProcess, tmp_path: Path) -> None:
    source, built = tmp_path / "lacking.c", tmp_path / "lacking.o"
    f = '__attribute__((export_name("f"))) int f(void) { return nobody_has_this(); }'
    source.write_text(f"int nobody_has_this(void);\n{f}\n", encoding="utf-8")
    ZIG.run(["-xc", "-target", "wasm32-wasi", "-fPIC", "-c", str(source), "-o", str(built)], source.name)
    ZIG.link([built], tmp_path / "lacking.wasm")
    with pytest.raises(BundleError, match="nobody has nobody_has_this"):
        server.open(tmp_path / "lacking.wasm", "module")


@needs_node
def test_invalid_module_is_refused(server: RunnerProcess, tmp_path: Path) -> None:
    (tmp_path / "program.wasm").write_bytes(b"\0asm\1\0\0\0")  # which has nothing in it
    with pytest.raises(BundleError, match=r"it has no section dylink\.0"):
        server.open(tmp_path / "program.wasm", "module")
    (tmp_path / "cut.wasm").write_bytes(library_of(RECIPE, scaled(), tmp_path).read_bytes()[:100])
    with pytest.raises(BundleError, match=r"could not load cut\.wasm: WebAssembly\.compile"):
        server.open(tmp_path / "cut.wasm", "module")


def test_version_refuses_an_old_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "version_of_runner", lambda program, package: "v16.20.2")
    with pytest.raises(BuildError, match=r"Node 16\.20\.2 is too old .* install 18 or newer"):
        NODE.version()


def test_check_names_the_missing_javascript(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(served, "WEB", tmp_path)
    assert str(NODE.check()).startswith(f"{tmp_path} lacks the JavaScript that runs the code")


@needs_node
def test_node_has_the_features_of_browsers(server: RunnerProcess) -> None:
    assert set(server.features()) == {"atomics", "relaxed-simd", "simd128"}


@pytest.mark.parametrize(("version", "options"), [("v20.20.2", 1), ("v21.0.0", 0), ("v22.3.0-nightly", 0)])
def test_options_request_relaxed_simd_if_necessary(
    version: str, options: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "version_of_runner", lambda *words: version)
    assert NODE.options() == ["--experimental-wasm-relaxed-simd"][:options]
