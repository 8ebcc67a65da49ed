"""A site in Chromium: loading and storing of its bundle, and messages about failures."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from elsewhere import obstacle
from hosting import Host
from watched_pages import tasks_of

from kokoro_tvm.publish.pieces import PIECE

pytestmark = [
    pytest.mark.slow("opens pages in Chromium"),
    pytest.mark.skipif(obstacle("wasm") is not None, reason=str(obstacle("wasm"))),
]
READY = "#play:enabled"
PROBLEM = "#problem:not([hidden])"
TEXT = "He ran home. Dr. Smith had 3 dogs!"
FORGET = """navigator.storage.getDirectory().then(
  folder => folder.removeEntry("kokoro-tvm-pieces", { recursive: true }))"""
LOADING_S = 120_000  # milliseconds; machines are busy at times


@pytest.fixture
def host(site_folder: Path) -> Iterator[Host]:
    """Return the site on its own host, because a browser stores data per host."""
    with Host(site_folder).running() as host:
        yield host


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """Return a tab with a new profile without a service worker, so that the page loads everything."""
    context = browser.new_context(service_workers="block")
    context.set_default_timeout(LOADING_S)
    yield context.new_page()
    context.close()


def listed(site_folder: Path) -> dict[str, Any]:
    return json.loads((site_folder / "bundle" / "pieces.json").read_text(encoding="utf-8"))["files"]


def unpacked(content: bytes, width: int) -> bytes:
    return np.frombuffer(zlib.decompress(content), np.uint8).reshape(width, -1).T.tobytes()


def speak(tab: Any, text: str) -> None:
    tab.fill("#text", text)
    tab.click("#play")


def test_pieces_are_named_by_content_and_form_the_bundle(bundle: Path, site_folder: Path) -> None:
    widths = {digest: width for e in listed(site_folder).values() for digest, _, width, _ in e["pieces"]}
    packed = {path.name: path.read_bytes() for path in (site_folder / "pieces").iterdir()}
    there = {name: unpacked(content, widths[name]) for name, content in packed.items()}
    assert all(hashlib.sha256(content).hexdigest() == name for name, content in there.items())
    assert max(map(len, there.values())) == PIECE
    files = listed(site_folder)
    for name, entry in files.items():
        digests = [digest for digest, *_ in entry["pieces"]]
        assert b"".join(there[digest] for digest in digests) == (bundle / name).read_bytes()
        sizes = [[len(there[digest]), widths[digest], len(packed[digest])] for digest in digests]
        assert sizes == [rest for _, *rest in entry["pieces"]]
    assert set(there) == set(widths)
    assert sum(map(len, packed.values())) < 0.86 * sum(map(len, there.values()))
    separate = {path.name for path in (site_folder / "bundle").iterdir()}
    assert separate == {"bundle.json", "provenance.json", "pieces.json"}
    assert set(files) | separate - {"pieces.json"} == {path.name for path in bundle.iterdir()} - {"hello.wav"}


def test_second_visit_fetches_no_piece(host: Host, tab: Any) -> None:
    tab.goto(host.address)
    tab.wait_for_selector(READY)
    files = listed(host.folder)
    voices = [digest for digest, *_ in files.pop("voices.safetensors")["pieces"]]
    every = {digest for entry in files.values() for digest, *_ in entry["pieces"]}
    fetched = sorted(host.pieces())
    assert fetched == sorted(every | set(fetched) & set(voices))
    assert len(set(fetched) & set(voices)) == 2, "the header, and the voice that speaks where none is chosen"
    assert tab.is_hidden("#loading")
    host.requests.clear()
    tab.reload()
    tab.wait_for_selector(READY)
    assert host.pieces() == []


def test_loading_continues_after_a_lost_connection(host: Host, tab: Any) -> None:
    pieces = listed(host.folder)["front_end.safetensors"]["pieces"]
    reached, lost = Event(), Event()

    def answer(path: str) -> bytes | None:
        if path == f"/pieces/{pieces[-1][0]}" and not lost.is_set():
            reached.set()
            lost.wait()
            return b""
        return None

    host.answer = answer
    tab.goto(host.address)
    assert reached.wait(LOADING_S / 1000)
    tab.wait_for_function(
        "document.getElementById('loading')?.innerText.match(/^\\d+ of \\d+ MB are left to load/)"
    )
    tab.context.set_offline(True)
    tab.wait_for_function(
        "document.getElementById('loading').innerText.startsWith('There is no connection.')"
    )
    assert tab.is_disabled("#play")
    lost.set()
    before = list(host.pieces())
    tab.context.set_offline(False)
    tab.wait_for_selector(READY)
    assert tab.is_hidden("#loading")
    again = host.pieces()[len(before) :]
    assert pieces[-1][0] in again
    assert len(before) + len(again) < 2 * len(set(before)), "what was there was fetched again"


@pytest.mark.parametrize("damage", [lambda content: content[:-1], lambda content: content[::-1]])
def test_damaged_piece_is_refused_and_fetched_again(damage: Any, host: Host, tab: Any) -> None:
    ((piece, size, *_),) = listed(host.folder)["libtvm.wasm"]["pieces"]
    content = damage((host.folder / "pieces" / piece).read_bytes())
    host.answer = lambda path: content if path == f"/pieces/{piece}" else None
    tab.goto(host.address)
    text = tab.wait_for_selector(PROBLEM).inner_text()
    assert text.startswith(
        f"The bundle could not be loaded. A piece of libtvm.wasm has not the {size} bytes with sha256 "
        f"{piece} that the list names."
    )
    assert tab.is_disabled("#play")
    kept = set(host.pieces()) - {piece}
    host.answer = lambda path: None
    host.requests.clear()
    tab.click("#problem button")
    tab.wait_for_selector(READY)
    assert piece in host.pieces()
    assert len(kept & set(host.pieces())) < len(kept)


def test_removed_site_is_reported(host: Host, tab: Any) -> None:
    tab.goto(host.address)
    tab.wait_for_selector(READY)
    # A list that the browser has would be of pieces that it waits for until there is a connection.
    tab.context.new_cdp_session(tab).send("Network.clearBrowserCache")
    tab.context.set_offline(True)
    tab.evaluate(FORGET)
    loaded = tab.evaluate(
        """async () => {
          const { open } = await import("./bundle_synthesizer.js");
          return (await open(document.baseURI)).voices().catch(({ kind }) => kind);
        }"""
    )
    assert loaded == "unreachable"


def test_full_quota_is_reported_and_the_page_speaks(host: Host, tab: Any) -> None:
    tab.context.new_cdp_session(tab).send(
        "Storage.overrideQuotaForOrigin", {"origin": host.address, "quotaSize": 1 << 20}
    )
    tab.goto(host.address)
    tab.wait_for_selector(READY)
    text = tab.inner_text("#loading")
    assert text == "This browser has no room to keep what was loaded: the next visit loads it again."
    speak(tab, TEXT)
    tab.wait_for_function("document.getElementById('play').dataset.state === 'ended'")


@pytest.mark.parametrize(
    ("injected", "text"),
    [
        (
            "WebAssembly.validate = () => false;",
            "This browser cannot compute speech. Its WebAssembly lacks ",
        ),
        (
            "globalThis.WebAssembly = undefined;",
            "This browser cannot compute speech. Its WebAssembly lacks ",
        ),
        (
            "WebAssembly.Memory.prototype.grow = () => { throw new RangeError('refused'); };",
            "There is too little memory to speak. The browser gives no ",
        ),
        (
            "WebAssembly.compile = () => Promise.reject(new RangeError('Out of memory'));",
            "There is too little memory to speak. Out of memory.",
        ),
    ],
)
def test_missing_feature_is_named(injected: str, text: str, host: Host, tab: Any) -> None:
    worker = (host.folder / "runtime" / "worker.js").read_bytes()
    host.answer = lambda path: injected.encode() + worker if path == "/runtime/worker.js" else None
    tab.goto(host.address)
    assert tab.wait_for_selector(PROBLEM).inner_text().startswith(text)
    assert tab.is_disabled("#play")


def test_missing_workers_are_reported(host: Host, tab: Any) -> None:
    tab.add_init_script("delete globalThis.Worker")
    tab.goto(host.address)
    text = tab.wait_for_selector(PROBLEM).inner_text()
    assert text.startswith("This browser cannot compute speech. It has no module workers.")


def test_insecure_address_is_reported(host: Host, tab: Any) -> None:
    """Digests exist on https and on this machine alone."""
    worker = (host.folder / "runtime" / "worker.js").read_bytes()
    without = b"Object.defineProperty(crypto, 'subtle', { value: undefined });"
    host.answer = lambda path: without + worker if path == "/runtime/worker.js" else None
    tab.goto(host.address)
    text = tab.wait_for_selector(PROBLEM).inner_text()
    assert text.startswith("This browser cannot compute speech. The address is not secure")


def test_page_shows_the_number_of_threads(host: Host, tab: Any) -> None:
    tab.goto(host.address)
    tab.wait_for_selector(READY)
    assert tab.inner_text("#threads") == "Computed in this browser, by one thread."


def test_page_has_no_long_task_while_it_speaks(browser: Any, host: Host, tab: Any, tmp_path: Path) -> None:
    """Every task of the page's main thread takes less than 50 ms of CPU time."""
    trace = tmp_path / "trace.json"
    tab.goto(host.address)
    tab.wait_for_selector(READY)
    browser.start_tracing(page=tab, path=trace, categories=["toplevel", "blink.user_timing"])
    tab.evaluate("performance.mark('here')")
    speak(tab, f"{TEXT} " * 8)
    tab.wait_for_selector("#save:enabled")
    browser.stop_tracing()
    tasks = tasks_of(trace)
    assert len(tasks) > 100
    assert max(tasks) < 50


def test_hundred_pages_begin_like_one(host: Host, tab: Any) -> None:
    tab.goto(host.address)
    tab.wait_for_selector(READY)
    speak(tab, f"{TEXT} " * 6000)  # 210,000 characters
    tab.wait_for_function("document.getElementById('play').dataset.state === 'speaking'")
    assert tab.is_hidden("#problem")
    tab.click("#stop")
    tab.wait_for_function("document.getElementById('play').dataset.state === 'ended'")


def test_closed_page_leaves_nothing_behind(host: Host, tab: Any) -> None:
    tab.goto(host.address)
    tab.wait_for_selector(READY)
    speak(tab, f"{TEXT} " * 100)
    tab.wait_for_function("document.getElementById('play').dataset.state === 'speaking'")
    workers = list(tab.workers)
    assert len(workers) == 1
    context = tab.context
    tab.close()
    assert context.pages == []
    host.requests.clear()
    next_tab = context.new_page()
    next_tab.goto(host.address)
    next_tab.wait_for_selector(READY)
    assert len(next_tab.workers) == 1
    assert host.pieces() == []
