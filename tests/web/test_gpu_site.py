"""A site with bundles for WebGPU and WebAssembly: what computes, and the page's messages about the GPU.

SwiftShader is the GPU. It compiles the toy's kernels for minutes, so only slow tests compute with them. The
others use a bundle with one kernel that nothing launches.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium import chromium
from elsewhere import obstacle
from hosting import Host
from wgsl import ROTATION, code_of

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.publish.site import write_site
from kokoro_tvm.runtime import Division, SpeechWarning
from kokoro_tvm.runtime.bundle.provenance import FILE as PROVENANCE
from kokoro_tvm.targets.runners import open_synthesizer
from kokoro_tvm.targets.runners.chromium import CHROMIUM

pytestmark = [
    pytest.mark.slow("opens pages in Chromium"),
    pytest.mark.skipif(obstacle("webgpu") is not None, reason=str(obstacle("webgpu"))),
]
READY = "#play:enabled"
KERNELS = "decoder-130.kernels"
LOADING_S = 300_000  # milliseconds; machines are busy at times
TEXT = "Hi."
INSTEAD = " WebAssembly computes in its place."
BY_WASM = "Computed in this browser, by one thread."
BY_GPU = "Computed in this browser, by its GPU."
# SwiftShader as if it was a GPU.
HARDWARE = "Object.defineProperty(GPUAdapterInfo.prototype, 'isFallbackAdapter', { get: () => false });"
LOST = """
  const request = GPUAdapter.prototype.requestDevice;
  GPUAdapter.prototype.requestDevice = async function (...values) {
    const device = await request.apply(this, values);
    let left = READS;
    const copy = GPUCommandEncoder.prototype.copyBufferToBuffer;
    GPUCommandEncoder.prototype.copyBufferToBuffer = function (...given) {
      if (!left--) device.destroy();
      return copy.apply(this, given);
    };
    return device;
  };
"""


def changed(text: str) -> str:
    """Return kernels with another text."""
    return f"""
      const create = GPUDevice.prototype.createShaderModule;
      GPUDevice.prototype.createShaderModule = function ({{ code }}) {{
        return create.call(this, {{ code: {text} }});
      }};
    """


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    switches = ("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--disable-gpu-watchdog")
    with chromium("--autoplay-policy=no-user-gesture-required", *switches) as opened:
        yield opened


@pytest.fixture(scope="module")
def stand_in(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the WebAssembly bundle with the manifest of a WebGPU bundle whose decoder has one kernel."""
    folder = Path(shutil.copytree(bundle, tmp_path_factory.mktemp("stand-in") / "webgpu"))
    kernels = code_of(ROTATION).to_bytes()
    (folder / KERNELS).write_bytes(kernels)
    manifest = json.loads((folder / "bundle.json").read_text(encoding="utf-8"))
    manifest["target"]["kind"] = "webgpu"
    (library,) = manifest["components"]["decoder"]["libraries"]
    digest = hashlib.sha256(kernels).hexdigest()
    library["kernels"] = {"file": KERNELS, "size": len(kernels), "sha256": digest}
    text = json.dumps(manifest)
    provenance = json.loads((folder / PROVENANCE).read_text(encoding="utf-8"))
    subjects = [each for each in provenance["subject"] if each["name"] != "bundle.json"]
    changed = {"bundle.json": hashlib.sha256(text.encode()).hexdigest(), KERNELS: digest}
    subjects += [{"name": name, "digest": {"sha256": sha256}} for name, sha256 in changed.items()]
    for name, content in {
        "bundle.json": text,
        PROVENANCE: json.dumps(provenance | {"subject": subjects}),
    }.items():
        (folder / name).unlink()  # it may be a link to the store
        (folder / name).write_text(content, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def plain_folder(bundle: Path, stand_in: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "site"
    write_site(bundle, out, stand_in)
    return out


@pytest.fixture
def plain(plain_folder: Path) -> Iterator[Host]:
    """Return the site with the stand-in."""
    with Host(plain_folder).running() as host:
        yield host


@pytest.fixture(scope="module")
def folder(bundle: Path, gpu_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "site"
    write_site(bundle, out, gpu_bundle)
    return out


@pytest.fixture
def host(folder: Path) -> Iterator[Host]:
    with Host(folder).running() as host:
        yield host


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    context = browser.new_context(service_workers="block")
    context.set_default_timeout(LOADING_S)
    yield context.new_page()
    context.close()


def inject(host: Host, code: str) -> None:
    """Run code before the worker's own."""
    worker = (host.folder / "runtime" / "worker.js").read_bytes()
    host.answer = lambda path: code.encode() + worker if path == "/runtime/worker.js" else None


def pieces(host: Host, bundle: str, *names: str) -> set[str]:
    """Return the digests of the pieces of files, by default of all that are always loaded."""
    listed = json.loads((host.folder / bundle / "pieces.json").read_text(encoding="utf-8"))["files"]
    named = names or [name for name in listed if not listed[name]["apart"]]
    return {digest for name in named for digest, *_ in listed[name]["pieces"]}


def fetched(host: Host) -> set[str]:
    """Return the digests of fetched pieces without those of voices."""
    return set(host.pieces()) - pieces(host, "bundle", "voices.safetensors")


def computed_by(tab: Any) -> str:
    text: str = tab.inner_text("#threads")
    return text


def speak(tab: Any) -> None:
    tab.fill("#text", TEXT)
    tab.click("#play")
    tab.wait_for_function("document.getElementById('play').dataset.state === 'ended'")
    assert "of speech" in tab.text_content("#status")


SPEAK = """async ([text, options]) => {
  const { open } = await import("./gpu_synthesizer.js");
  const ways = [];
  const tts = await open(document.baseURI, { onway: (way) => ways.push(way) });
  const plan = await tts.plan(text, options);
  const first = plan.pieces[0];
  const higher = plan.with({ pieces: [first.with({ pitch: [1.25, 1.25] })] });
  const audio = async (what) => [...(await tts.render(what)).audio];
  const found = { audio: await audio(plan), higher: await audio(higher), ways };
  tts.close();
  return found;
}"""


@pytest.mark.nightly
def test_gpu_speaks_as_the_runner(
    host: Host, tab: Any, gpu_bundle: Path, runner_runtime: Callable[[str], list[Path]]
) -> None:
    """Bit for bit, because it is the same GPU. A changed pitch takes f0 through WebAssembly."""
    inject(host, HARDWARE)
    tab.goto(host.address)
    found = tab.evaluate(SPEAK, [TEXT, {"voice": "am_adam"}])
    assert found["ways"] == [{"computes": "gpu", "notice": None}]
    with pytest.warns(SpeechWarning):
        tts = open_synthesizer(CHROMIUM, gpu_bundle, 1, runner_runtime("webgpu"))
        plan = tts.plan(TEXT, voice="am_adam", division=Division())
        plain = tts.render(plan).audio
    for name in ("audio", "higher"):
        audio = np.array(found[name], np.float32)
        assert audio.shape == plain.shape
        assert np.abs(audio).max() > 0.001
        assert np.array_equal(audio, plain) == (name == "audio")


@pytest.mark.nightly
def test_page_loads_the_gpu_bundle_and_shows_it(host: Host, tab: Any) -> None:
    inject(host, HARDWARE)
    tab.goto(host.address)
    tab.wait_for_selector(READY)
    assert computed_by(tab) == BY_GPU
    assert fetched(host) == pieces(host, "bundle-gpu")
    assert pieces(host, "bundle") - fetched(host)
    speak(tab)
    host.requests.clear()
    tab.reload()
    tab.wait_for_selector(READY)
    assert computed_by(tab) == BY_GPU
    assert host.pieces() == []


@pytest.mark.parametrize(
    ("injected", "notice"),
    [
        ("", "The browser has no GPU, only a program in the place of one."),
        (
            "Object.defineProperty(WorkerNavigator.prototype, 'gpu', { value: undefined });",
            "The browser has no WebGPU.",
        ),
        ("GPU.prototype.requestAdapter = async () => null;", "The browser gives no GPU."),
        (
            f"{HARDWARE} Object.defineProperty(GPUSupportedLimits.prototype, "
            "'maxStorageBuffersPerShaderStage', { get: () => 8 });",
            "The GPU gives a kernel 8 buffers, and 10 are needed.",
        ),
    ],
)
def test_browser_without_a_gpu_loads_the_other_bundle_alone(
    injected: str, notice: str, plain: Host, tab: Any
) -> None:
    inject(plain, injected)
    tab.goto(plain.address)
    tab.wait_for_selector(READY)
    assert computed_by(tab) == f"{BY_WASM} {notice}{INSTEAD}"
    assert fetched(plain) == pieces(plain, "bundle")
    assert tab.is_hidden("#problem")


def test_failing_kernel_falls_back_to_webassembly(plain: Host, tab: Any) -> None:
    inject(plain, HARDWARE + changed("code.replace('workgroupBarrier', 'noSuchThing')"))
    tab.goto(plain.address)
    tab.wait_for_selector(READY)
    found = computed_by(tab)
    assert found.startswith(f"{BY_WASM} The GPU does not take the kernel k (")
    assert found.endswith(INSTEAD)
    assert tab.is_hidden("#problem")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("injected", "notice"),
    [
        (changed("code.replaceAll('1.000000e+00f', '1.500000e+00f')"), "The GPU computes something else"),
        (LOST.replace("READS", "0"), "The GPU was lost"),
    ],
)
def test_wrong_golden_word_falls_back_to_webassembly(
    injected: str, notice: str, host: Host, tab: Any
) -> None:
    inject(host, HARDWARE + injected)
    tab.goto(host.address)
    tab.wait_for_selector(READY)
    found = computed_by(tab)
    assert found.startswith(f"{BY_WASM} {notice}")
    assert found.endswith(INSTEAD)
    assert tab.is_hidden("#problem")
    speak(tab)


@pytest.mark.nightly
def test_lost_gpu_falls_back_to_webassembly(host: Host, tab: Any) -> None:
    """The interrupted computation is repeated."""
    inject(host, HARDWARE + LOST.replace("READS", "1"))  # the golden word is read first
    tab.goto(host.address)
    tab.wait_for_selector(READY)
    assert computed_by(tab) == BY_GPU
    speak(tab)
    found = computed_by(tab)
    assert found.startswith(f"{BY_WASM} The GPU was lost")
    assert found.endswith(INSTEAD)
    assert tab.is_hidden("#problem")
    assert fetched(host) == pieces(host, "bundle") | pieces(host, "bundle-gpu")


def test_truncated_kernels_fall_back_to_webassembly(plain: Host, tab: Any) -> None:
    (kernels,) = pieces(plain, "bundle-gpu", KERNELS)
    inject(plain, HARDWARE)
    worker, content = plain.answer, (plain.folder / "pieces" / kernels).read_bytes()[:-1]
    plain.answer = lambda path: content if path == f"/pieces/{kernels}" else worker(path)
    tab.goto(plain.address)
    tab.wait_for_selector(READY)
    assert computed_by(tab).startswith(f"{BY_WASM} A piece of {KERNELS} has not the ")
    assert tab.is_hidden("#problem")


def test_webassembly_is_compared_once(plain: Host, tab: Any) -> None:
    """A browser with other samples is refused."""
    other = "Math.round = (value) => Math.floor(value) + 1;"  # of the golden word's durations
    inject(plain, other)
    tab.goto(plain.address)
    text = tab.wait_for_selector("#problem:not([hidden])").inner_text()
    assert text.startswith("This browser cannot compute speech. Its WebAssembly gives other samples than ")
    plain.answer = lambda path: None
    tab.click("#problem button")
    tab.wait_for_selector(READY)
    inject(plain, other)
    tab.reload()
    tab.wait_for_selector(READY)


def test_site_refuses_unrelated_bundles(bundle: Path, stand_in: Path, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"needs a GPU, which not every browser has\. Name it with --gpu"):
        write_site(stand_in, tmp_path / "site")
    with pytest.raises(BundleError, match=r"is no bundle for WebGPU\. Build one: `doit webgpu`"):
        write_site(bundle, tmp_path / "site", bundle)
    assert not (tmp_path / "site").exists()
