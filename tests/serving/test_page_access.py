"""Accessibility of the page: keyboard, names and roles, small screens, colour schemes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import TEXT, Page, page_of, serving_slowly
from serving import Server
from watched_pages import tasks_of

pytestmark = pytest.mark.slow("opens pages in Chromium")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving_slowly(tmp_path_factory.mktemp("served") / "toy") as running:
        yield running


def test_page_works_by_keyboard(page: Page) -> None:
    """From the address bar on: every control in the order of the page, and nothing else."""
    keys = page.tab.keyboard
    order = []
    for _ in range(14):
        keys.press("Tab")
        order.append(page.focused())
    examples = ["BUTTON"] * 3
    dock = ["play", "volume", "format", "share"]
    assert order == ["theme", "text", *examples, "open", "SUMMARY", "speed", "SUMMARY", "docs", *dock]
    for _ in range(6):
        keys.press("Shift+Tab")
    keys.press("ArrowRight")
    assert page.tab.inner_text("#speed-shown") == "1.05×"
    keys.press("Shift+Tab")
    keys.press("Enter")
    keys.press("Tab")
    assert page.focused() == "find"
    keys.type("emm")
    assert page.tab.locator(".voice:visible").count() == 1
    keys.press("Escape")
    assert page.tab.input_value("#find") == ""
    keys.press("Tab")
    assert page.focused() == "voice-af_heart"
    keys.press("ArrowDown")
    assert page.tab.inner_text("#voice-title") == "Adam"
    for _ in range(3):
        keys.press("Tab")
    assert page.tab.evaluate("document.activeElement.ariaLabel") == "Mix Emma in"
    keys.press("Space")
    assert page.tab.inner_text("#voice-title") == "Adam 50 %, Emma 50 %"
    page.tab.focus("#text")
    keys.type("He ")
    keys.insert_text(TEXT * 3)
    keys.press("Control+Enter")
    page.state("speaking")
    assert page.focused() == "play"
    keys.press("Space")
    page.state("paused")
    keys.press("Space")
    page.state("speaking")
    keys.press("Escape")
    assert page.tab.is_visible("#text")
    assert page.tab.inner_text("#play") in ("Speak", "Play")
    assert page.spoken()[0]["voice"] == "am_adam+bf_emma"
    assert page.spoken()[0]["speed"] == 1.05


def test_page_has_names_and_roles(page: Page) -> None:
    """What a screen reader is given, from the top to the bottom."""
    assert page.tab.locator("body").aria_snapshot() == ROLES
    page.speak()
    page.state("ended")
    assert page.tab.text_content("#status").startswith("Finished: ")
    region = page.tab.get_by_role("region", name="What is spoken")
    assert region.inner_text() == TEXT
    assert region.get_attribute("lang") == "en-US"
    seek = page.tab.get_by_role("slider", name="Position")
    assert seek.is_enabled()
    assert seek.get_attribute("aria-valuetext") == "0:00 of 0:03"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1100])
def test_page_follows_colour_and_motion_preferences(
    browser: Any, server: Server, tmp_path: Path, scheme: str, width: int
) -> None:
    """SCREENSHOTS names a folder for pictures."""
    folder = Path(os.environ.get("SCREENSHOTS", tmp_path))
    window = {"width": width, "height": 700}
    with page_of(browser, server, color_scheme=scheme, viewport=window, reduced_motion="reduce") as page:
        page.open()
        page.speak()
        page.state("speaking")
        page.tab.wait_for_selector(".now")
        page.tab.screenshot(path=folder / f"page-{scheme}-{width}.png")
        page.state("ended")
        assert page.tab.evaluate("document.getAnimations().length") == 0
        back = page.tab.evaluate("getComputedStyle(document.body).backgroundColor")
        for _ in ("light", "dark") if scheme == "light" else ("light",):
            page.tab.click("#theme")
        assert page.tab.evaluate("getComputedStyle(document.body).backgroundColor") != back


def test_page_history_can_be_cleared(page: Page) -> None:
    page.speak("No man ran.")
    page.state("ended")
    page.tab.reload()
    page.tab.wait_for_selector("#play:enabled")
    page.tab.click("#past summary")
    page.tab.click("#history button")
    assert page.tab.input_value("#text") == "No man ran."
    page.tab.click("#forget")
    assert page.tab.is_hidden("#past")
    page.tab.reload()
    page.tab.wait_for_selector("#play:enabled")
    assert page.tab.is_hidden("#past")
    assert page.tab.evaluate("Object.keys(localStorage)") == []


def test_page_link_holds_the_state_in_its_fragment(page: Page, browser: Any, server: Server) -> None:
    page.tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.tab.fill("#text", "Ha & ha.\nNo?")
    page.tab.click("#voice-panel summary")
    page.tab.check("#voice-bf_emma", force=True)
    page.tab.click("#share")
    page.tab.wait_for_selector("text=Copied")
    link = page.tab.evaluate("navigator.clipboard.readText()")
    assert link == f"{server.url}/#text=Ha+%26+ha.%0ANo%3F&voice=bf_emma" == page.tab.url
    with page_of(browser, server) as other:
        other.open(link.removeprefix(f"{server.url}/"))
        assert other.tab.input_value("#text") == "Ha & ha.\nNo?"
        assert other.tab.inner_text("#voice-title") == "Emma"
        assert other.spoken() == []
        assert not any("Ha" in request.url for request in other.requests[1:])


def test_page_works_without_storage(browser: Any, server: Server) -> None:
    refuse = """Object.defineProperty(window, "localStorage", {
      get() { throw new DOMException("no", "SecurityError"); } })"""
    with page_of(browser, server) as page:
        page.tab.add_init_script(refuse)
        page.open()
        page.speak("No man ran.")
        page.state("ended")
        assert page.tab.is_visible("#past")


def test_page_has_no_long_task(browser: Any, server: Server, tmp_path: Path) -> None:
    """Processor time of every task of the page's main thread while a page of text is spoken: below 50 ms."""
    trace = tmp_path / "trace.json"
    with page_of(browser, server) as page:
        page.open()
        browser.start_tracing(page=page.tab, path=trace, categories=["toplevel", "blink.user_timing"])
        page.tab.evaluate("performance.mark('here')")
        page.speak(TEXT * 20)
        page.state("speaking")
        page.tab.wait_for_selector("#save:enabled")
        page.tab.focus("#seek")
        page.tab.keyboard.press("End")
        page.state("ended")
        browser.stop_tracing()
    tasks = tasks_of(trace)
    assert len(tasks) > 100
    assert max(tasks) < 50


ROLES = """\
- banner:
  - heading "Kokoro" [level=1]
  - 'button "Theme: system"'
- main:
  - region "Text":
    - text: Text to speak
    - textbox "Text to speak":
      - /placeholder: Write something, or paste it here.
    - group "Examples":
      - text: Try
      - button "a story"
      - button "numbers and dates"
      - button "pauses and stress"
    - text: Ctrl+Enter to speak
    - button "Open a file"
  - region "Voice and speed":
    - group:
      - text: Voice
      - strong: Heart
      - text: American English, female
    - text: Speed
    - slider "Speed": "1"
    - status: 1.00×
    - group: Options
- contentinfo:
  - strong: toy
  - link "HTTP API":
    - /url: docs
- region "Player":
  - slider "Position" [disabled]: "0"
  - button "Speak"
  - button "Stop" [disabled]
  - slider "Volume": "1"
  - group "Save and share":
    - button "Save as" [disabled]
    - combobox "Format":
      - option "WAV" [selected]
      - option "MP3"
      - option "FLAC"
      - option "Opus"
      - option "AAC"
      - option "SRT"
      - option "WebVTT"
    - button "Copy link"
  - status"""
