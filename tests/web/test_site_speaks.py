"""Use of a site: type, listen, change the voice, stop, save, and go offline."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from elsewhere import obstacle
from hosting import Host
from numpy.typing import NDArray
from watched_pages import CAPTURE, Page, places_of

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.publish import mp3
from kokoro_tvm.publish.site import write_site
from kokoro_tvm.runtime import Division, SpeechWarning
from kokoro_tvm.targets.runners import open_synthesizer
from kokoro_tvm.targets.runners.node import NODE

pytestmark = [
    pytest.mark.slow("opens pages in Chromium"),
    pytest.mark.skipif(obstacle("wasm") is not None, reason=str(obstacle("wasm"))),
]
TEXT = "He ran home. Dr. Smith had 3 dogs!"
LONG = " ".join([TEXT] * 6)
DELAY = 1105  # samples of silence that a decoder gives before what LAME encoded


@pytest.fixture
def host(site_folder: Path) -> Iterator[Host]:
    """Return the site with a module that records sound."""
    made = Host(site_folder)
    made.answer = lambda path: CAPTURE.encode() if path == "/capture.js" else None
    with made.running():
        yield made


@pytest.fixture
def page(browser: Any, host: Host) -> Iterator[Page]:
    context = browser.new_context()
    page = Page(context.new_page(), host.address)
    yield page.open()
    page.check()
    context.close()


@pytest.fixture(scope="module")
def spoken(bundle: Path, runner_runtime: Callable[[str], list[Path]]) -> Callable[..., NDArray[np.float32]]:
    """Return a function that speaks with Python and components in Node."""
    tts = open_synthesizer(NODE, bundle, 1, runner_runtime("wasm"))

    def speak(text: str, voice: str = "af_heart") -> NDArray[np.float32]:
        with pytest.warns(SpeechWarning):
            return tts(text, voice=voice, division=Division()).audio  # as pages stream

    return speak


# What a browser does to a page that nobody sees: nothing is painted, and timers wait for a second.
BACKGROUND = """
  Object.defineProperty(document, "hidden", { value: true });
  Object.defineProperty(document, "visibilityState", { value: "hidden" });
  window.requestAnimationFrame = () => 0;
  const later = window.setTimeout;
  window.setTimeout = (call, delay, ...rest) => later(call, Math.max(1000, delay ?? 0), ...rest);
"""


def saved(tab: Any, suffix: str, folder: Path) -> Path:
    tab.select_option("#format", suffix)
    with tab.expect_download() as download:
        tab.click("#save:enabled")
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def same(samples: NDArray[np.float32], rounded: NDArray[np.float32]) -> bool:
    """Return whether samples of 16 bits are those of a speech."""
    return len(samples) == len(rounded) and bool(np.abs(np.clip(samples, -1, 1) - rounded).max() <= 1 / 32768)


def test_page_plays_the_bundles_speech(page: Page, spoken: Callable[..., Any]) -> None:
    """Sample for sample."""
    page.speak(TEXT)
    page.state("ended")
    assert len(places_of(spoken(TEXT), page.heard())) == 1
    assert page.lit() == sorted(set(page.lit()))


def test_voice_change_continues_with_the_sentence(
    page: Page, spoken: Callable[..., Any], tmp_path: Path
) -> None:
    page.tab.click("#voice-panel summary")
    page.speak(LONG)
    page.state("speaking")
    names = page.tab.eval_on_selector_all("#voices input", "all => all.map(({ value }) => value)")
    other = next(name for name in names if name != "af_heart")
    page.tab.check(f"#voice-{other}", force=True)
    audio, _ = soundfile.read(saved(page.tab, "wav", tmp_path), dtype="float32")
    starts = [sentence.start() for sentence in re.finditer("He ran|Dr. Smith", LONG)]
    rests = [rest for start in starts if same(rest := spoken(LONG[start:], other), audio[-len(rest) :])]
    assert len(rests) == 1
    before = audio[: -len(rests[0])]
    assert same(spoken(LONG)[: len(before)], before)


def test_background_tab_continues_to_speak(page: Page, spoken: Callable[..., Any]) -> None:
    page.tab.evaluate(BACKGROUND)
    page.speak(LONG)
    page.state("ended")
    assert len(places_of(spoken(LONG), page.heard())) == 1
    assert page.tab.text_content("#status").startswith("Finished: ")


def test_stop_keeps_the_record(page: Page, spoken: Callable[..., Any], tmp_path: Path) -> None:
    page.speak(LONG * 30)
    page.state("speaking")
    page.tab.click("#stop")
    first = saved(page.tab, "wav", tmp_path).read_bytes()
    page.tab.wait_for_timeout(300)
    assert len(first) > 44
    assert saved(page.tab, "wav", tmp_path).read_bytes() == first, "it was computed on"
    page.speak(TEXT)
    audio, _ = soundfile.read(saved(page.tab, "wav", tmp_path), dtype="float32")
    assert same(spoken(TEXT), audio)


def test_page_marks_the_words_of_notices(page: Page) -> None:
    page.speak("He ran 世界 home, and Quxley ran.")
    page.state("ended")
    assert page.tab.locator("#reading mark").all_inner_texts() == ["世界", "Quxley"]
    assert page.tab.locator("#notices li").count() == 2


def test_page_without_an_encoder_offers_no_mp3(page: Page) -> None:
    formats = page.tab.eval_on_selector_all("#format option", "options => options.map(({ value }) => value)")
    assert formats == ["wav", "srt", "vtt"]


@pytest.fixture(scope="module")
def with_mp3(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mp3")
    try:
        encoder = mp3.fetch_encoder(folder / "npm", lambda line: None)
    except BuildError as error:
        pytest.skip(str(error))
    write_site(bundle, folder / "site", encoder=encoder)
    return folder / "site"


def decoded(path: Path) -> NDArray[np.float32]:
    import av

    with av.open(path) as file:
        frames = [frame.to_ndarray()[0] for frame in file.decode(audio=0)]
    return np.concatenate(frames)


def test_page_speaks_and_saves_offline(
    browser: Any, with_mp3: Path, tmp_path: Path, spoken: Callable[..., Any]
) -> None:
    context = browser.new_context()
    with Host(with_mp3).running() as host:
        page = Page(context.new_page(), host.address, is_heard=False).open()
        assert page.tab.evaluate("navigator.serviceWorker.ready.then(({ active }) => Boolean(active))")
        assert "/mp3/lamejs.js" in host.requests, "the service worker keeps it"
    page.open()  # where nothing answers any more
    page.speak(TEXT)
    page.state("ended")
    wav, _ = soundfile.read(saved(page.tab, "wav", tmp_path), dtype="float32")
    assert same(spoken(TEXT), wav)
    path = saved(page.tab, "mp3", tmp_path)
    assert path.name == "he-ran-home-dr-smith-had-3-dogs.mp3"
    audio = decoded(path)[DELAY:]
    assert len(wav) <= len(audio) <= len(wav) + 2 * 1152
    # 64 kbit/s leave 0.957 of what is mostly hiss, the toy's; one sample off, it would be 0.02.
    assert np.corrcoef(audio[: len(wav)], wav)[0, 1] > 0.95
    page.check()
    context.close()


def test_missing_encoder_is_reported(browser: Any, with_mp3: Path) -> None:
    context = browser.new_context(service_workers="block")
    host = Host(with_mp3)
    host.answer = lambda path: b"export const other = 1;" if path == "/mp3/lamejs.js" else None
    with host.running():
        page = Page(context.new_page(), host.address, is_heard=False).open()
        page.speak(TEXT)
        page.tab.select_option("#format", "mp3")
        page.tab.click("#save:enabled")
        assert page.problem().startswith("The MP3 file could not be made. ")
        context.close()
