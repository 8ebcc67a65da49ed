"""The page of a site, as somebody uses it: what is heard is what the components give in Node."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium import chromium
from elsewhere import obstacle
from hosting import Host
from numpy.typing import NDArray
from watched_pages import CAPTURE, Page, places_of, tasks_of

from kokoro_tvm import Synthesizer
from kokoro_tvm.runners import open_synthesizer
from kokoro_tvm.runners.node import NODE
from kokoro_tvm.runtime import SpeechWarning
from kokoro_tvm.runtime.captions import write_captions

pytestmark = pytest.mark.skipif(obstacle("wasm") is not None, reason=str(obstacle("wasm")))
TEXT = "He ran home. Dr. Smith had 3 dogs! No man had land in hand."


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium("--autoplay-policy=no-user-gesture-required", "--enable-precise-memory-info") as opened:
        yield opened


@pytest.fixture(scope="module")
def host(site_folder: Path) -> Iterator[Host]:
    """The site, and the module that keeps what is played."""
    with Host(site_folder).running() as host:
        host.answer = lambda path: CAPTURE.encode() if path == "/capture.js" else None
        yield host


@pytest.fixture(scope="module")
def tts(bundle: Path, runner_runtime: Callable[[str], list[Path]]) -> Synthesizer:
    """The same bundle with its components in Node, and Python for everything else."""
    return open_synthesizer(NODE, bundle, 1, runner_runtime("wasm"))


def spoken(tts: Synthesizer, text: str, voice: str = "af_heart") -> NDArray[np.float32]:
    with pytest.warns(SpeechWarning):
        return tts(text, voice=voice).audio


@contextmanager
def page_of(browser: Any, host: Host, **context: Any) -> Iterator[Page]:
    made = browser.new_context(**context)
    try:
        page = Page(made.new_page(), host.address)
        yield page
        page.check()
    finally:
        made.close()


def heard_again(page: Page) -> NDArray[np.float32]:
    """What is heard from beginning to end, once it is all there: a busy machine may have made gaps."""
    page.state("ended")
    page.tab.click("#play")
    page.state("speaking")
    page.state("ended")
    return page.heard()


@pytest.fixture
def page(browser: Any, host: Host) -> Iterator[Page]:
    with page_of(browser, host) as opened:
        yield opened.open()


def test_what_is_heard_and_saved(page: Page, tts: Synthesizer, tmp_path: Path) -> None:
    page.speak(TEXT)
    heard = heard_again(page)
    with pytest.warns(SpeechWarning):
        speech = tts(TEXT, voice="af_heart")
    assert places_of(speech.audio, heard)
    lit = page.lit()
    assert len(lit) > 3
    assert lit == sorted(set(lit))
    files = {}
    for suffix in ("wav", "srt", "vtt"):
        with page.tab.expect_download() as download:
            page.tab.click(f"#save-{suffix}")
        download.value.save_as(tmp_path / suffix)
        files[suffix] = (tmp_path / suffix).read_bytes()
    samples = np.frombuffer(files["wav"][44:], "<i2")
    assert np.abs(samples - np.clip(speech.audio * 32768, -32768, 32767)).max() <= 0.5
    seconds = speech.audio.size / 24000
    for suffix in ("srt", "vtt"):
        assert files[suffix].decode() == write_captions(f"a.{suffix}", speech.timeline, seconds)


def test_another_voice_goes_on_with_the_sentence(page: Page, tts: Synthesizer) -> None:
    page.tab.click("#voice-panel summary")
    page.speak(TEXT)
    page.state("speaking")
    page.tab.check("#voice-am_adam", force=True)
    heard = heard_again(page)
    sentences = [found.start() for found in re.finditer(r"He|Dr|No", TEXT)]
    rests = [spoken(tts, TEXT[start:], "am_adam") for start in sentences]
    assert any(places_of(rest, heard) for rest in rests)
    assert page.tab.inner_text("#reading") == TEXT


def test_what_is_stopped_ends_and_the_next_text_is_spoken(page: Page, tts: Synthesizer) -> None:
    page.speak(TEXT * 10)
    page.state("speaking")
    page.tab.click("#stop")
    assert page.tab.is_visible("#text")
    before = np.count_nonzero(page.heard())
    page.tab.wait_for_timeout(300)
    assert np.count_nonzero(page.heard()) == before
    page.speak("No man ran.")
    assert places_of(spoken(tts, "No man ran."), heard_again(page))


def test_a_visit_later_has_settings_and_history(page: Page) -> None:
    page.tab.click("#voice-panel summary")
    page.tab.check("#voice-bf_emma", force=True)
    page.tab.focus("#speed")
    page.tab.keyboard.press("ArrowRight")
    page.speak("No man ran.")
    page.state("ended")
    page.tab.reload()
    page.tab.wait_for_selector("#play:enabled")
    assert page.tab.inner_text("#voice-title") == "Emma"
    assert page.tab.inner_text("#speed-shown") == "1.05×"
    page.tab.click("#past summary")
    page.tab.click("#history button")
    assert page.tab.input_value("#text") == "No man ran."


def test_a_link_has_text_voice_and_speed(page: Page, browser: Any, host: Host, tts: Synthesizer) -> None:
    page.tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.tab.fill("#text", "No man ran.")
    page.tab.click("#voice-panel summary")
    page.tab.check("#voice-am_adam", force=True)
    page.tab.click("#share")
    page.tab.wait_for_selector("text=Copied")
    link = page.tab.evaluate("navigator.clipboard.readText()")
    with page_of(browser, host) as other:
        other.open(link.removeprefix(f"{host.address}/"))
        other.tab.click("#play")
        assert places_of(spoken(tts, "No man ran.", "am_adam"), heard_again(other))


def test_by_keyboard_on_a_phone(browser: Any, host: Host, tts: Synthesizer) -> None:
    phone = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
    with page_of(browser, host, **phone) as page:
        page.open()
        page.tab.focus("#text")
        page.tab.keyboard.insert_text("No man ran.")
        page.tab.keyboard.press("Control+Enter")
        assert places_of(spoken(tts, "No man ran."), heard_again(page))
        page.tab.tap("#play")
        page.state("speaking")
        page.tab.keyboard.press("Escape")
        assert page.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_no_task_is_long(browser: Any, host: Host, tmp_path: Path) -> None:
    """Processor time of every task of the main thread while it reads, plans and speaks: below 50 ms."""
    trace = tmp_path / "trace.json"
    with page_of(browser, host) as page:
        page.open()
        browser.start_tracing(page=page.tab, path=trace, categories=["toplevel", "blink.user_timing"])
        page.tab.evaluate("performance.mark('here')")
        page.speak(TEXT)
        page.state("ended")
        browser.stop_tracing()
    tasks = tasks_of(trace)
    assert len(tasks) > 100
    assert max(tasks) < 50


@pytest.mark.nightly
def test_memory_does_not_grow_with_the_text(page: Page) -> None:
    """What the page holds after 200 sentences is their sound and their words, and what 20 took besides."""
    devtools = page.tab.context.new_cdp_session(page.tab)

    def used_after(sentences: int) -> float:
        """Bytes of JavaScript, and of arrays besides the samples."""
        program = """async (count) => {
          const { open } = await import("./bundle_synthesizer.js");
          window.tts ??= await open(document.baseURI);
          let samples = 0;
          for await (const { audio } of tts.stream("No man ran. ".repeat(count), { voice: "af_heart" })) {
            samples += audio.length;
          }
          return samples;
        }"""
        assert page.tab.evaluate(program, sentences) > 0
        devtools.send("HeapProfiler.collectGarbage")
        usage = devtools.send("Runtime.getHeapUsage")
        return float(usage["usedSize"] + usage["backingStorageSize"])

    used_after(20)
    first = used_after(20)
    assert used_after(200) - first < 1_000_000
