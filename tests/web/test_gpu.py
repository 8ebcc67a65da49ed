"""WebGPU in Chromium with SwiftShader: one kernel, launched as compiled code does it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium import chromium
from hosting import QuietHandler, listening
from wgsl import ROTATION, code_of, rotated

from kokoro_tvm.web import WEB

pytestmark = pytest.mark.slow("opens pages in Chromium")

SWITCHES = ("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium(*SWITCHES) as opened:
        yield opened


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    places = {"web": WEB, "gpu.html": Path(__file__).with_name("gpu.html")}

    class Handler(QuietHandler):
        def translate_path(self, path: str) -> str:
            first, _, rest = path.lstrip("/").partition("/")
            return str(places.get(first, WEB / "none") / rest)

    with listening(Handler) as found:
        yield found


@contextmanager
def page(browser: Any, address: str, injected: str = "") -> Iterator[Any]:
    context = browser.new_context()
    tab = context.new_page()
    if injected:
        tab.add_init_script(injected)
    tab.goto(f"{address}/gpu.html")
    tab.wait_for_function("window.ready")
    yield tab
    context.close()


def compute(
    tab: Any,
    x: np.ndarray,
    launches: list[tuple[float, int]],
    body: str = ROTATION,
    groups: int | None = None,
) -> dict[str, Any]:
    kernels = list(code_of(body).to_bytes())
    values = [kernels, x.tolist(), launches, groups or -(-len(x) // 64)]
    found: dict[str, Any] = tab.evaluate("values => window.compute(...values)", values)
    return found


@pytest.mark.parametrize("n", [1, 64, 1000])
def test_kernel_gets_arguments_of_every_kind(n: int, browser: Any, address: str) -> None:
    """More launches than are submitted together, each with its own scalars."""
    x = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    launches = [(0.25 * k, 3 * k) for k in range(80)]
    with page(browser, address) as tab:
        found = compute(tab, x, launches)
    assert "error" not in found, found
    for (scale, most), y in zip(launches, found["found"], strict=True):
        assert np.allclose(y, rotated(x) * np.float32(scale) + np.float32(most), rtol=1e-6)


def test_launch_folds_large_grids(browser: Any, address: str) -> None:
    """All but the first compute nothing: their elements are beyond the end."""
    x = np.arange(64, dtype=np.float32)
    with page(browser, address) as tab:
        found = compute(tab, x, [(1.0, 0)], groups=65537)
    assert np.array_equal(found["found"], [rotated(x)])


def limited(limit: int) -> str:
    return (
        "Object.defineProperty(GPUSupportedLimits.prototype, 'maxStorageBuffersPerShaderStage', "
        f"{{ get: () => {limit} }});"
    )


@pytest.mark.parametrize(
    ("injected", "message"),
    [
        (
            "Object.defineProperty(Navigator.prototype, 'gpu', { value: undefined });",
            "The browser has no WebGPU.",
        ),
        ("GPU.prototype.requestAdapter = async () => null;", "The browser gives no GPU."),
        (
            "GPU.prototype.requestAdapter = async () => { throw new Error('broken'); };",
            "The browser gives no GPU.",
        ),
        (limited(8), "The GPU gives a kernel 8 buffers, and 10 are needed."),
        (
            "GPUAdapter.prototype.requestDevice = async () => { throw new Error('busy'); };",
            "The browser does not give the GPU (busy).",
        ),
        (
            "GPUDevice.prototype.createBuffer = () => { throw new RangeError('none left'); };",
            "The GPU has no memory for 8192 bytes (none left).",
        ),
    ],
)
def test_open_names_missing_features(injected: str, message: str, browser: Any, address: str) -> None:
    with page(browser, address, injected) as tab:
        found = compute(tab, np.ones(1024, np.float32), [(1.0, 0)])
    assert found == {"error": "GpuError", "message": message}


def test_compile_names_a_kernel_that_fails(browser: Any, address: str) -> None:
    with page(browser, address) as tab:
        found = compute(tab, np.ones(3, np.float32), [(1.0, 0)], "  y[i] = unknown_thing(x[i]);")
    assert found["error"] == "GpuError"
    assert found["message"].startswith("The GPU does not take the kernel k (")


def test_compile_runs_as_many_compilers_as_processors(browser: Any, address: str) -> None:
    injected = """
      window.running = window.most = 0;
      Object.defineProperty(Navigator.prototype, 'hardwareConcurrency', { value: 3 });
      GPUDevice.prototype.createComputePipelineAsync = async () => {
        window.most = Math.max(window.most, ++window.running);
        await new Promise((done) => setTimeout(done, 5));
        window.running -= 1;
      };
    """
    compiled = """async ([bytes]) => {
      const { Gpu } = await import("/web/runtime/gpu.js");
      const { readKernels } = await import("/web/runtime/kernels.js");
      const [kernel] = readKernels(Uint8Array.from(bytes));
      const kernels = Array.from({ length: 10 }, (_, place) => ({ ...kernel, name: `k${place}` }));
      const gpu = await Gpu.open({ software: true });
      const calls = gpu.imports({ text: (place) => `k${place}` });
      const library = await gpu.compile(kernels);
      return { most: window.most, numbers: kernels.map((_, place) => calls.find_kernel(library, place)) };
    }"""
    with page(browser, address, injected) as tab:
        found = tab.evaluate(compiled, [list(code_of(ROTATION).to_bytes())])
    assert found == {"most": 3, "numbers": list(range(1, 11))}


def test_launch_reports_a_refused_dispatch(browser: Any, address: str) -> None:
    """WebGPU reports a destroyed buffer later, and computes nothing."""
    injected = """
      const create = GPUDevice.prototype.createBuffer;
      GPUDevice.prototype.createBuffer = function (descriptor) {
        const buffer = create.call(this, descriptor);
        if (descriptor.mappedAtCreation) setTimeout(() => buffer.destroy());
        return buffer;
      };
      const compile = GPUDevice.prototype.createComputePipelineAsync;
      GPUDevice.prototype.createComputePipelineAsync = async function (...values) {
        const made = await compile.apply(this, values);
        return made;
      };
      GPUBuffer.prototype.unmap = function () { this.destroy(); };
    """
    with page(browser, address, injected) as tab:
        found = compute(tab, np.ones(3, np.float32), [(1.0, 0)])
    assert found["error"] == "GpuError"
    assert found["message"].startswith("The GPU refuses a command (")


@pytest.mark.parametrize("reached", ["GPUQueue.prototype.submit", "GPUBuffer.prototype.mapAsync"])
def test_lost_device_is_an_error(reached: str, browser: Any, address: str) -> None:
    injected = f"""
      const request = GPUAdapter.prototype.requestDevice;
      let device;
      GPUAdapter.prototype.requestDevice = async function (...values) {{
        return (device = await request.apply(this, values));
      }};
      const reached = {reached};
      {reached} = function (...values) {{
        device.destroy();
        return reached.apply(this, values);
      }};
    """
    with page(browser, address, injected) as tab:
        found = compute(tab, np.ones(3, np.float32), [(1.0, 0)])
    assert found["error"] == "GpuError"
    assert found["message"].startswith("The GPU was lost")


def test_software_adapter_is_refused(browser: Any, address: str) -> None:
    with page(browser, address) as tab:
        found = tab.evaluate(
            """async () => (await import("/web/runtime/gpu.js")).Gpu.open().catch(({ message }) => message)"""
        )
    assert found == "The browser has no GPU, only a program in the place of one."
