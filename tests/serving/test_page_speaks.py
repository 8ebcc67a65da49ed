"""Use of the page: type, listen, pause, change the voice, stop, save."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browsing import TEXT, Page, places_of, serving_slowly, spoken_by
from serving import Server, wait_for

pytestmark = pytest.mark.slow("opens pages in Chromium")

# The colour of the darkest point of the spectrogram, and that of its text: red, green, blue.
PIXELS = """() => {
  const color = getComputedStyle(spectrogram).color;
  const pen = new OffscreenCanvas(1, 1).getContext("2d");
  pen.fillStyle = color;
  pen.fillRect(0, 0, 1, 1);
  const { data } = spectrogram.getContext("2d").getImageData(0, 0, spectrogram.width, spectrogram.height);
  let darkest = 3;
  for (let place = 3; place < data.length; place += 4) if (data[place] > data[darkest]) darkest = place;
  const near = values => [...values].slice(0, 3).map(value => Math.round(value / 4));
  return [near(data.slice(darkest - 3)), near(pen.getImageData(0, 0, 1, 1).data)];
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving_slowly(tmp_path_factory.mktemp("served") / "toy") as running:
        yield running


def test_page_plays_the_audio_of_the_server(page: Page, server: Server) -> None:
    """Sample for sample."""
    page.speak()
    page.state("speaking")
    page.state("ended")
    assert len(places_of(spoken_by(server, TEXT, voice="af_heart"), page.heard())) == 1
    assert page.spoken() == [
        {
            "model": "kokoro",
            "input": TEXT,
            "voice": "af_heart",
            "speed": 1,
            "response_format": "pcm",
            "stream_format": "sse",
        }
    ]


def test_page_highlights_words_in_order(page: Page, server: Server) -> None:
    seconds = round(len(spoken_by(server, TEXT)) / 24000)
    page.speak()
    page.state("ended")
    lit = page.lit()
    assert len(lit) > 3
    assert lit == sorted(set(lit))
    said = page.tab.eval_on_selector_all(
        "#reading [data-place].said", "words => words.map(word => word.textContent)"
    )
    assert [word for word in said if word[0].isalpha()][:4] == ["He", "ran", "home", "Big"]
    assert page.tab.inner_text("#reading") == TEXT
    assert page.tab.text_content("#status") == f"Finished: {seconds} seconds of speech."


def test_page_resumes_after_a_pause(page: Page, server: Server) -> None:
    page.speak()
    page.state("speaking")
    page.tab.click("#play")
    page.state("paused")
    page.tab.wait_for_timeout(200)
    before = np.count_nonzero(page.heard())
    page.tab.wait_for_timeout(200)
    assert np.count_nonzero(page.heard()) == before
    page.tab.click("#play")
    page.state("ended")
    whole = spoken_by(server, TEXT, voice="af_heart")
    assert np.count_nonzero(whole) > before
    assert len(places_of(whole, page.heard())) == 1


def test_page_suspends_the_idle_device(page: Page) -> None:
    """And it wakes for the next sound."""
    page.speak()
    page.state("ended")
    state = "taps[0].context.state"
    wait_for(lambda: page.tab.evaluate(state) == "suspended")
    page.tab.click("#play")
    page.state("speaking")
    page.tab.click("#play")
    page.state("paused")
    wait_for(lambda: page.tab.evaluate(state) == "suspended")
    page.tab.click("#play")
    page.state("speaking")
    page.state("ended")


def test_page_replays_without_a_request(page: Page, server: Server) -> None:
    page.speak("No man ran.")
    page.state("ended")
    assert page.tab.inner_text("#play") == "Play"
    page.tab.click("#play")
    page.state("speaking")
    page.state("ended")
    assert len(places_of(spoken_by(server, "No man ran."), page.heard())) == 2
    assert len(page.spoken()) == 1


def test_page_continues_in_another_voice(page: Page, server: Server) -> None:
    page.tab.click("#voice-panel summary")
    page.speak()
    page.state("speaking")
    page.tab.wait_for_selector('.said:text-is("told")')
    page.tab.check("#voice-am_adam", force=True)
    page.state("ended")
    first, second = page.spoken()
    assert (first["voice"], second["voice"]) == ("af_heart", "am_adam")
    assert second["input"] in (TEXT[TEXT.index('"Big') :], TEXT[TEXT.index("No man") :])
    heard = page.heard()
    (place,) = places_of(spoken_by(server, second["input"], voice="am_adam"), heard)
    before = spoken_by(server, TEXT, voice="af_heart")
    assert places_of(before[:2000], heard)[0] < place
    said = page.tab.eval_on_selector_all(
        "#reading [data-place].said", "words => words.map(word => word.textContent)"
    )
    assert said.count("told") == 1
    assert page.tab.inner_text("#reading") == TEXT


def test_page_stop_cancels_the_job(page: Page, server: Server) -> None:
    server.runner.close_after(1)
    page.speak()
    server.runner.waiting.acquire()
    (job,) = server.service.scheduler.jobs
    page.tab.click("#stop")
    wait_for(lambda: job.cancelled)
    server.runner.gate.set()
    job.join()
    assert page.tab.is_visible("#text")
    assert page.tab.inner_text("#play") == "Speak"


def test_page_seeks_to_a_clicked_word(page: Page, server: Server) -> None:
    page.speak()
    page.state("ended")
    page.tab.click('#reading span:text-is("land")')
    page.state("speaking")
    page.state("ended")
    heard, whole = page.heard(), spoken_by(server, TEXT, voice="af_heart")
    assert [len(places_of(part, heard)) for part in (whole[:9000], whole[-9000:])] == [1, 2]


def test_page_plays_samples_of_voices(page: Page, server: Server) -> None:
    page.tab.click("#voice-panel summary")
    page.tab.get_by_role("button", name="Hear Emma").click()
    page.tab.wait_for_selector("[data-sample=bf_emma][aria-pressed=true]")
    page.tab.wait_for_selector("[data-sample=bf_emma][aria-pressed=false]")
    (asked,) = page.spoken()
    assert asked["voice"] == "bf_emma"
    assert len(places_of(spoken_by(server, asked["input"], voice="bf_emma"), page.heard())) == 1
    assert page.tab.is_visible("#text")


def test_page_shows_a_spectrogram(page: Page, server: Server) -> None:
    """Of the speech that is there, in the colour of the theme; another speech has another."""
    assert not page.tab.is_visible("#spectrogram-panel")
    pictures = []
    for text in ("He ran home.", "No man had land in hand."):
        page.speak(text)
        page.state("ended")
        if not pictures:
            page.tab.click("#spectrogram-panel summary")
        seconds = round(len(spoken_by(server, text)) / 24000)
        page.tab.wait_for_selector(
            f'#spectrogram[aria-label="Spectrogram of {seconds} seconds of speech, 0 to 12 kHz"]'
        )
        assert page.tab.get_by_role("img", name="Spectrogram").is_visible()
        pictures.append(page.tab.evaluate("spectrogram.toDataURL()"))
        page.tab.click("#edit")
    assert pictures[0] != pictures[1]
    drawn, inked = page.tab.evaluate(PIXELS)
    assert drawn == inked
    page.tab.click("#theme")
    page.tab.click("#theme")
    assert page.tab.evaluate(PIXELS)[0] == page.tab.evaluate(PIXELS)[1] != drawn


def test_page_saves_files(page: Page, server: Server, tmp_path: Path) -> None:
    page.speak()
    page.state("ended")
    files = {}
    for suffix in ("wav", "srt", "vtt"):
        with page.tab.expect_download() as download:
            page.tab.select_option("#format", suffix)
            page.tab.click("#save")
        assert download.value.suggested_filename == f"he-ran-home-big-bad-dog-he-told-me-and.{suffix}"
        path = tmp_path / suffix
        download.value.save_as(path)
        files[suffix] = path.read_bytes()
    assert files["wav"][44:] == server.speak(TEXT, voice="af_heart").body
    assert files["srt"].decode().startswith("1\n00:00:00,0")
    assert "He ran home.\n" in files["srt"].decode()
    assert files["vtt"].decode().startswith("WEBVTT\n\n00:00:00.0")
