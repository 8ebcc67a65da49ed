"""A bundle for WebAssembly: its stages in Node, and its components in pages."""

from __future__ import annotations

import json
import shutil
import subprocess
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import front_end_vectors
import numpy as np
import pytest
import soundfile
from checkout import ROOT
from chromium import chromium
from elsewhere import obstacle
from hosting import QuietHandler, listening

from kokoro_tvm.common.errors import BundleError, InputError
from kokoro_tvm.publish.site import write_site
from kokoro_tvm.runtime import Division, SpeechWarning
from kokoro_tvm.runtime.bundle.manifest import SCHEMA
from kokoro_tvm.targets.runners import open_synthesizer
from kokoro_tvm.targets.runners.node import NODE
from kokoro_tvm.web import WEB

pytestmark = [
    pytest.mark.slow("runs the bundle for WebAssembly"),
    pytest.mark.skipif(obstacle("wasm") is not None, reason=str(obstacle("wasm"))),
]
TOKENS = [0, 50, 83, 54, 156, 57, 16, 65, 0]


def test_gates_are_run_in_node(bundle: Path) -> None:
    work = bundle.parent / ".build" / "wasm"
    reports = [json.loads(path.read_text(encoding="utf-8")) for path in work.glob("*/validation.json")]
    reports.append(json.loads((work / "speech" / "speech.json").read_text(encoding="utf-8")))
    assert len(reports) == 6
    assert {(report["runner"], report["passed"]) for report in reports} == {(NODE.version(), True)}
    statuses = {utterance["name"]: utterance["status"] for utterance in reports[-1]["utterances"]}
    assert statuses["text of three pieces"].startswith("not run: Node ")
    audio, _ = soundfile.read(bundle / "hello.wav", dtype="float32")
    assert np.abs(audio).max() > 0.001


def test_bundle_contains_runtime_front_end_and_libraries(bundle: Path) -> None:
    manifest = json.loads((bundle / "bundle.json").read_text(encoding="utf-8"))
    assert manifest["cpu_features"] == ["simd128", "atomics"]
    assert manifest["runtime"]["file"] == "libtvm.wasm"
    files = [c["libraries"][0]["file"] for c in manifest["components"].values()]
    assert all(name.endswith(".wasm") for name in files)
    assert {path.name for path in bundle.glob("*.wasm")} == {*files, "libtvm.wasm", "text.wasm"}


def test_libraries_contain_no_path(bundle: Path) -> None:
    """Otherwise, the file would depend on the folder."""
    places = [str(place).encode() for place in (ROOT, Path.home(), Path(gettempdir()))]
    for path in bundle.glob("*.wasm"):
        content = path.read_bytes()
        assert not [place for place in places if place + b"/" in content], path.name


@pytest.fixture(scope="module")
def speak(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[dict[str, Any], np.ndarray]]:
    def run(
        bundle: Path, style: np.ndarray, seed: int = 0, threads: int = 1
    ) -> tuple[dict[str, Any], np.ndarray]:
        folder = tmp_path_factory.mktemp("speak")
        request = folder / "request.json"
        values = {"tokens": TOKENS, "style": style.tolist(), "seed": seed, "threads": threads}
        request.write_text(json.dumps(values))
        program = Path(__file__).with_name("speak.mjs")
        command = ["node", str(program), str(WEB), str(bundle), str(request), str(folder / "audio")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        audio = folder / "audio"
        return json.loads(done.stdout), np.fromfile(audio, np.float32) if audio.exists() else np.zeros(0)

    return run


STYLE = np.random.default_rng(0).normal(size=256).astype(np.float32) / 4


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_modules_compute_the_runners_bits(
    threads: int, bundle: Path, speak: Callable[..., Any], runner_runtime: Callable[[str], list[Path]]
) -> None:
    """With any number of threads."""
    found, audio = speak(bundle, STYLE, seed=7, threads=threads)
    with pytest.warns(SpeechWarning, match="random"):
        tts = open_synthesizer(NODE, bundle, 3 - threads % 2, runner_runtime("wasm"))
        speech = tts.run(TOKENS, STYLE, seed=7)
    assert found["threads"] == threads
    assert found["frames"] == speech.durations.tolist()
    assert np.array_equal(audio, speech.audio)


@pytest.mark.parametrize("isolated", [False, True])
def test_worker_in_chromium_computes_the_same_bits(
    isolated: bool, bundle: Path, speak: Callable[..., Any]
) -> None:
    """With all cores if headers allow it; pending calls of a closed worker are rejected."""
    found, audio = speak(bundle, STYLE, seed=7)
    with served(bundle, ISOLATION if isolated else {}) as address, chromium() as browser:
        tab = browser.new_page()
        tab.goto(f"{address}/speak.html")
        tab.wait_for_function("window.ready")
        assert tab.evaluate("window.crossOriginIsolated") == isolated
        there = tab.evaluate("words => window.speak(...words)", [TOKENS, STYLE.tolist(), 7])
        cores = tab.evaluate("navigator.hardwareConcurrency")
    assert there.get("message") is None
    assert there["threads"] == (min(cores, 8) if isolated else 1)
    assert there["frames"] == found["frames"]
    assert np.array_equal(np.array(there["audio"], np.float32), audio)
    assert there["ended"] == "AbortError"


def test_thread_that_cannot_start_is_an_error(bundle: Path) -> None:
    with served(bundle, ISOLATION, without="web/runtime/thread.js") as address, chromium() as browser:
        tab = browser.new_page()
        if tab.evaluate("navigator.hardwareConcurrency") == 1:
            pytest.skip("one core, so one thread")
        tab.goto(f"{address}/speak.html")
        tab.wait_for_function("window.ready")
        there = tab.evaluate("words => window.speak(...words)", [TOKENS, STYLE.tolist(), 7])
    assert there["message"].startswith("a thread cannot be started: ")


def besides_weights(bundle: Path, frames: Sequence[int]) -> list[int]:
    """Return the bytes of the runtime's memory without weights after each utterance."""
    program = Path(__file__).with_name("lengths.mjs")
    command = ["node", str(program), str(WEB), str(bundle), *map(str, frames)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    weights, *memory = json.loads(done.stdout)
    return [size - weights for size in memory]


def test_memory_is_that_of_the_longest_utterance(bundle: Path) -> None:
    """Free blocks are joined, so memory stays constant after the longest utterance."""
    (alone,) = besides_weights(bundle, [120])
    mixed = besides_weights(bundle, [20, 40, 60, 80, 100, 120, 60, 20, 100, 40, 120])
    assert alone > 1 << 19, "too little to tell anything"
    assert mixed[-1] < 1.25 * alone
    assert mixed[5:] == [mixed[5]] * 6


@pytest.mark.nightly
def test_memory_stays_constant_over_200_utterances(bundle: Path) -> None:
    """A length may find no block that is large enough, so memory grows by about a fourth in all."""
    (alone,) = besides_weights(bundle, [120])
    lengths = np.random.default_rng(0).integers(20, 121, 200).tolist()
    mixed = besides_weights(bundle, [20, 40, 60, 80, 100, 120, *lengths])
    assert mixed[-1] < 1.3 * alone
    assert len(set(mixed[5:])) <= 3, "it grows on and on"


ISOLATION = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}


@contextmanager
def served(bundle: Path, headers: Mapping[str, str], without: str = "") -> Iterator[str]:
    """Serve the JavaScript, the bundle and the page with more headers, `without` a file."""
    places = {"web": WEB, "bundle": bundle, "speak.html": Path(__file__).with_name("speak.html")}

    class Handler(QuietHandler):
        def translate_path(self, path: str) -> str:
            name = path.lstrip("/")
            first, _, rest = ("none" if name == without else name).partition("/")
            return str(places[first] / rest) if rest else str(places.get(first, WEB / "none"))

        def end_headers(self) -> None:
            for name, value in headers.items():
                self.send_header(name, value)
            super().end_headers()

    with listening(Handler) as address:
        yield address


def test_file_that_differs_from_the_manifest_is_refused(
    bundle: Path, speak: Callable[..., Any], tmp_path: Path
) -> None:
    name = json.loads((bundle / "bundle.json").read_text())["components"]["bert"]["weights"]["file"]
    copy = Path(shutil.copytree(bundle, tmp_path / "bundle"))
    content = bytearray((copy / name).read_bytes())
    content[-1] ^= 1
    (copy / name).unlink()
    (copy / name).write_bytes(content)
    found, _ = speak(copy, STYLE)
    assert found["error"] == "BundleError"
    assert found["message"].startswith(f"{name} has {len(content)} bytes with sha256 ")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"schema": SCHEMA + 1},
            "BundleError",
            f"bundle.json has schema {SCHEMA + 1}; this version reads {SCHEMA}.",
        ),
        ({"length": "masked"}, "BundleError", "the bundle has masked lengths"),
        ({"cpu_features": ["simd128", "none"]}, "UnsupportedError", "Its WebAssembly lacks none."),
    ],
)
def test_unusable_bundle_is_refused(
    change: dict[str, Any], error: str, message: str, bundle: Path, speak: Callable[..., Any], tmp_path: Path
) -> None:
    manifest = json.loads((bundle / "bundle.json").read_text(encoding="utf-8"))
    (tmp_path / "bundle.json").write_text(json.dumps(manifest | change), encoding="utf-8")
    found, _ = speak(tmp_path, STYLE)
    assert found["error"] == error
    assert message in found["message"]


TEXT = "He ran home. Dr. Smith had 3 dogs!"


SPEAK = """async ([text, options]) => {
  const { open } = await import("./bundle_synthesizer.js");
  const tts = await open(document.baseURI);
  const [audio, words] = [[], []];
  for await (const chunk of tts.stream(text, options)) {
    audio.push(...chunk.audio);
    words.push(...chunk.words);
  }
  return { audio, words, voices: await tts.voices() };
}"""


def test_site_speaks_as_the_runner(
    site: str, bundle: Path, runner_runtime: Callable[[str], list[Path]]
) -> None:
    """Read, planned, computed and joined by JavaScript."""
    with chromium() as browser:
        tab = browser.new_page()
        tab.goto(site)
        found = tab.evaluate(SPEAK, [TEXT, {"voice": "am_adam(2)+af_heart", "speed": 1.25}])
    with pytest.warns(SpeechWarning):
        tts = open_synthesizer(NODE, bundle, 1, runner_runtime("wasm"))
        speech = tts(TEXT, voice="am_adam(2)+af_heart", speed=1.25, division=Division())
    words = [word for word in speech.timeline if word.spoken]
    assert [word["word"] for word in found["words"]] == [word.text for word in words]
    assert [word["source"] for word in found["words"]] == [list(word.source) for word in words]
    for edge in ("start", "end"):
        times = [getattr(word, edge) for word in words]
        assert [word[edge] for word in found["words"]] == pytest.approx(times)
    audio = np.array(found["audio"], np.float32)
    assert audio.size == speech.audio.size
    assert np.linalg.norm(audio - speech.audio) < 10 ** (-90 / 20) * np.linalg.norm(speech.audio)
    assert found["voices"] == list(tts.voices.names)


READ = {
    "a": "Dr. Smith was [never](+2) seen; [tomatoes](/təmˈAtOz/) cost $5 a kg. 😀",
    "b": "<speak>The <sub alias='World Wide Web'>WWW</sub> <emphasis>is</emphasis> here.</speak>",
    "e": "¿Cuánto cuestan 3 kg de manzanas? [Kokoro](/kokˈoɾo/) habla.",
    "f": "Les enfants ont vingt amis à Paris, le 3 mai.",
    "h": "मेरे पास 5 किताबें हैं। Python अच्छा है।",
    "i": "Il gatto mangia 12 pesci, perché ha fame.",
    "p": "Você tem 3 irmãos em São Paulo?",
}

PLAN = """async (texts) => {
  const { open } = await import("./bundle_synthesizer.js");
  const tts = await open(document.baseURI);
  const plans = {};
  for (const [lang, text] of Object.entries(texts)) {
    const notices = [];
    const { pieces } = await tts.plan(text, { lang, warn: (notice) => notices.push(notice) });
    const words = pieces.flatMap(({ words }) => words);
    const place = (unit) => [...text.slice(0, unit)].length;
    plans[lang] = [words.map((w) => [w.text, place(w.start), place(w.end), w.phonemes, w.space]), notices];
  }
  return plans;
}"""


def test_page_reads_all_languages_as_python(
    site: str, bundle: Path, runner_runtime: Callable[[str], list[Path]]
) -> None:
    with chromium() as browser:
        tab = browser.new_page()
        tab.goto(site)
        found = tab.evaluate(PLAN, READ)
    tts = open_synthesizer(NODE, bundle, 1, runner_runtime("wasm"))
    with front_end_vectors.without_espeak():
        for code, text in READ.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                plan = tts.plan(text, language=code)
            words = [[w.text, w.start, w.end, w.phonemes, w.space] for w in plan.words]
            notices = [front_end_vectors.message(str(each.message)) for each in caught]
            read = [notice for notice in notices if "synthetic (random) weights" not in notice]
            assert found[code] == [words, read]


def test_page_of_a_site_speaks(site: str) -> None:
    with chromium("--autoplay-policy=no-user-gesture-required") as browser:
        tab = browser.new_page()
        errors: list[str] = []
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.goto(site)
        tab.wait_for_selector("#play:enabled", timeout=120_000)
        tab.fill("#text", TEXT)
        tab.click("#play")
        tab.wait_for_function("document.getElementById('play').dataset.state === 'ended'", timeout=120_000)
        assert "seconds of speech" in tab.text_content("#status")
        assert errors == []


def test_site_with_relaxed_simd_has_its_bundle(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"does not use relaxed SIMD\. Build one: `doit wasm-relaxed`"):
        write_site(bundle, tmp_path / "site", relaxed=bundle)
    assert not (tmp_path / "site").exists()


def test_site_replaces_an_existing_site_only(bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    first = write_site(bundle, out)
    assert write_site(bundle, out) == first
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="mine holds other files"):
        write_site(bundle, tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]
