"""What the page tells its users: examples, a fitting voice, notices, the length of a speech, what speaks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from browsing import TEXT, Page, page_of, serving_slowly, spoken_by
from serving import Server

pytestmark = pytest.mark.slow("opens pages in Chromium")


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving_slowly(tmp_path_factory.mktemp("served") / "toy") as running:
        yield running


def test_page_offers_examples_while_there_is_no_text(page: Page) -> None:
    page.tab.click("[data-example=markup]")
    assert "[pause:1s]" in page.tab.input_value("#text")
    assert page.tab.is_hidden("#examples")
    page.tab.click("#clear")
    assert page.tab.input_value("#text") == ""
    assert page.focused() == "text"
    assert page.tab.is_hidden("#clear")
    assert page.tab.is_visible("#examples")


def test_page_suggests_a_voice_for_another_language(page: Page) -> None:
    page.tab.fill("#text", "こんにちは、世界。")
    page.tab.wait_for_selector("#suggestion:visible")
    reason = page.tab.inner_text("#reason")
    assert reason == "Heart reads American English. This text looks like Japanese."
    page.tab.click("text=Use a Japanese voice")
    assert page.tab.inner_text("#voice-detail") == "Japanese, female"
    assert page.tab.is_hidden("#suggestion")
    page.tab.fill("#text", "Hello, how are you?")
    page.tab.click("text=Use an American English voice")
    assert page.tab.inner_text("#voice-title") == "Heart"


def test_page_suggests_a_voice_with_the_refusal(page: Page) -> None:
    page.speak("こんにちは")
    assert page.problem().startswith("There is nothing to speak: ")
    page.tab.click("#suggested")
    assert page.tab.is_hidden("#problem")
    page.tab.click("#play")
    page.state("ended")


def test_page_marks_the_words_of_notices(page: Page) -> None:
    page.speak("He ran 世界 home. No 世界")
    page.state("ended")
    assert page.tab.eval_on_selector_all("#notices li", "all => all.map(item => item.textContent)") == [
        "Left out: 世界"
    ]
    marks = page.tab.locator("#reading mark")
    assert marks.all_inner_texts() == ["世界", "世界"]
    assert marks.first.get_attribute("title") == "Left out: 世界"
    assert page.tab.inner_text("#reading") == "He ran 世界 home. No 世界"
    page.tab.click("#edit")
    page.speak("He ran.")
    page.state("ended")
    assert page.tab.is_hidden("#notices")
    assert page.tab.locator("#reading mark").count() == 0


def test_page_scales_the_position_to_the_whole_speech(page: Page, server: Server) -> None:
    """A part is there; the slider and the outline show it as a part, and a seek stays within it."""
    whole = len(spoken_by(server, TEXT)) / 24000
    server.runner.close_after(1)
    page.speak(TEXT)
    page.state("speaking")
    server.runner.waiting.acquire()
    page.tab.wait_for_function("document.getElementById('clock').textContent.includes('~')")
    estimate = float(page.tab.get_attribute("#seek", "max"))
    assert whole / 2 < estimate < 2 * whole
    assert " of about " in page.tab.get_attribute("#seek", "aria-valuetext")
    page.tab.evaluate("seek.value = seek.max; seek.dispatchEvent(new Event('input'))")
    page.tab.wait_for_function("Number(seek.value) < Number(seek.max)")
    server.runner.gate.set()
    page.state("ended")
    assert float(page.tab.get_attribute("#seek", "max")) == pytest.approx(whole, abs=0.1)
    assert "~" not in page.tab.inner_text("#clock")


def test_page_forgets_the_speech_of_another_text(page: Page) -> None:
    """What can be saved and seeked is the text in the box."""
    page.speak("No man ran.")
    page.state("ended")
    page.tab.click("#edit")
    assert page.tab.is_enabled("#save")
    page.tab.fill("#text", "No man ran home.")
    assert page.tab.is_disabled("#save")
    assert page.tab.is_disabled("#seek")
    assert page.tab.inner_text("#clock") == ""
    page.tab.fill("#text", "No man ran.")
    assert page.tab.is_enabled("#save")


def test_page_keeps_the_volume(page: Page, server: Server) -> None:
    page.tab.fill("#volume", "0.5")
    page.speak("No man ran.")
    page.state("ended")
    whole = spoken_by(server, "No man ran.", voice="af_heart")
    assert np.abs(page.heard()).max() == pytest.approx(np.abs(whole).max() / 2)
    page.tab.reload()
    page.tab.wait_for_selector("#play:enabled")
    assert page.tab.input_value("#volume") == "0.5"


def test_page_names_the_bundle_and_its_speed(page: Page) -> None:
    assert page.tab.inner_text("#bundle") == "toy"
    assert page.tab.inner_text("#pace") == ""
    page.speak("No man ran.")
    page.state("ended")
    assert page.tab.inner_text("#pace").endswith("× real time")
    assert page.tab.get_by_role("link", name="HTTP API").get_attribute("href") == "docs"


def test_page_highlights_every_voice_of_a_mix(page: Page) -> None:
    page.tab.click("#voice-panel summary")
    page.tab.click("[data-add=bf_emma]")
    names = page.tab.eval_on_selector_all(".voice.chosen", "all => all.map(row => row.dataset.name)")
    assert names == ["af_heart", "bf_emma"]


def test_page_keeps_its_files_in_the_browser(browser: Any, server: Server) -> None:
    """A second visit asks for the page and the voices alone."""
    with page_of(browser, server) as page:
        page.open()
        first = asked(server)
        Page(page.tab.context.new_page(), server.url).open()
        assert first > 20
        assert asked(server) - first - 1 == 2  # without that for the metrics


def asked(server: Server) -> int:
    """Return the number of requests that a server has answered."""
    lines = server.get("/metrics").body.decode().splitlines()
    counts = [line for line in lines if line.startswith("kokoro_tvm_http_requests_total{")]
    return sum(int(float(line.rpartition(" ")[2])) for line in counts)
