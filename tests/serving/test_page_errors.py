"""Messages of the page about errors, after which it works on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import TEXT, Page, page_of, serving_slowly
from serving import Server, wait_for

pytestmark = pytest.mark.slow("opens pages in Chromium")

BUSY = "The server is busy. Trying again in "
GONE = "The server does not answer. Check that it is running and that you are connected, then try again."
LOST = "The connection was lost before the end. What has arrived can be heard. Try again for all of it."


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving_slowly(tmp_path / "toy", max_requests=1) as made:
        yield made


def test_page_reports_a_busy_server(page: Page, server: Server) -> None:
    server.runner.close_after(0)
    other = threading.Thread(target=server.speak, args=["Ha."])
    other.start()
    server.runner.waiting.acquire()
    page.speak()
    assert page.problem().startswith(BUSY)
    assert page.tab.inner_text("#play") == "Speak"
    server.runner.gate.set()
    other.join()
    page.state("ended")  # it has tried again by itself
    assert page.tab.is_hidden("#problem")


def test_page_reports_a_lost_server(page: Page) -> None:
    page.tab.context.set_offline(True)
    page.speak()
    assert page.problem() == f"{GONE} Try again"
    assert page.tab.is_visible("#text")
    assert page.tab.input_value("#text") == TEXT
    page.tab.context.set_offline(False)
    page.tab.click("#problem button")
    page.state("ended")


def test_page_reports_a_missing_server(browser: Any, server: Server) -> None:
    with page_of(browser, server) as page:
        page.tab.route("**/v1/audio/voices", lambda route: route.abort())
        page.tab.goto(page.url)
        assert page.problem().startswith(GONE)
        assert page.tab.is_disabled("#play")
        page.tab.unroute("**/v1/audio/voices")
        page.tab.click("#problem button")
        page.tab.wait_for_selector("#play:enabled")


def test_page_reports_a_lost_connection(page: Page, server: Server) -> None:
    """What has come is heard to its end, and can be kept."""
    server.runner.fail_after(1)
    page.speak()
    assert page.problem() == (
        "The server failed while it was speaking. The bundle failed. The server's log says how. "
        "Try again; its log says why. Try again"
    )
    page.state("ended")
    assert page.tab.is_enabled("#save")
    assert page.tab.inner_text("#play") == "Speak"


def test_page_reports_a_cut_response(page: Page) -> None:
    words = 'data: {"type": "speech.audio.words", "words": []}\n\n'
    page.tab.route(
        "**/v1/audio/speech", lambda route: route.fulfill(content_type="text/event-stream", body=words)
    )
    page.speak()
    assert page.problem() == f"{LOST} Try again"


def test_page_reports_a_too_long_text(page: Page) -> None:
    page.speak("Ha. " * 25_001)
    assert page.problem() == (
        "Too long: 100,004 of 100,000 characters. "
        "Split it, or speak a file in a terminal: kokoro-tvm say -i FILE."
    )


def test_page_reports_a_refused_request(page: Page) -> None:
    page.speak("…")
    assert page.problem() == "There is nothing to speak: '…' has no letter or digit."


def test_page_reports_an_unknown_voice_in_the_text(page: Page) -> None:
    """The message is for the reader of the page, not for the operator."""
    page.speak("[voice:nobody] Ha.")
    assert page.problem() == (
        "The text has a mistake in line 1, column 1: There is no voice 'nobody' in "
        "this bundle. It has 5, such as af_heart, am_adam, bf_emma. "
        "Change the text or the voice, then try again."
    )


def test_page_asks_for_a_key(browser: Any, tmp_path: Path) -> None:
    wanted = "The server wants a key. Enter the key it was started with. Use the key"
    with (
        serving_slowly(tmp_path / "locked", api_key=("open sesame",)) as server,
        page_of(browser, server) as page,
    ):
        page.tab.goto(page.url)
        for key in ("wrong", "open sesame"):
            assert page.problem() == wanted
            page.tab.get_by_label("Key of the server").fill(key)
            page.tab.keyboard.press("Enter")
        page.tab.wait_for_selector("#play:enabled")
        page.speak()
        page.state("ended")


def test_page_reports_missing_audio_support(browser: Any, server: Server) -> None:
    with page_of(browser, server) as page:
        page.tab.add_init_script("delete window.AudioContext")
        page.open()
        page.speak()
        assert page.problem() == (
            "This browser cannot play the sound. There is no AudioWorklet. "
            "Use a current browser, and allow the page to play sound. Try again"
        )
        wait_for(lambda: not server.service.scheduler.jobs)


def test_page_reports_an_empty_text(page: Page) -> None:
    page.speak("  \n ")
    assert page.tab.text_content("#status") == "There is nothing to speak: the text is empty."
    assert page.focused() == "text"
    assert page.spoken() == []


def test_page_reports_an_unknown_voice_in_a_link(browser: Any, server: Server) -> None:
    with page_of(browser, server) as page:
        page.open("#text=Ha.&voice=af_nobody")
        assert page.problem().startswith("The link asks for the voice af_nobody, which is not here.")
        assert page.tab.inner_text("#voice-title") == "Heart"
