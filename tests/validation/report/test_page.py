from __future__ import annotations

import base64
import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import soundfile

from kokoro_tvm.validation.report import BundleFacts, write_page
from kokoro_tvm.validation.report.facts import worst

from .conftest import report, verdict


class Elements(HTMLParser):
    """Collects every element with its attributes, and the text."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def test_page_loads_nothing_else(page: Path) -> None:
    """The only addresses are links to logs."""
    elements = Elements(page)
    addresses = [a[key] or "" for _, a in elements.found for key in ("src", "href", "xlink:href") if key in a]
    assert addresses
    outside = [x for x in addresses if not x.startswith("data:")]
    assert outside == ["decoder.log"]
    assert "@import" not in page.read_text(encoding="utf-8")
    assert not elements.of("script")


def test_page_is_accessible(page: Path) -> None:
    elements = Elements(page)
    assert elements.of("html")[0]["lang"] == "en"
    assert all(i.get("alt") for i in elements.of("img"))
    assert all(s.get("aria-label") and s.get("role") == "img" for s in elements.of("svg"))
    assert all(a.get("aria-label") for a in elements.of("audio"))
    assert all(t.get("scope") in ("col", "row") for t in elements.of("th"))
    assert len(elements.of("h1")) == 1


def test_page_has_audio_and_picture_of_every_utterance(page: Path, facts: BundleFacts) -> None:
    elements = Elements(page)
    count = len(facts.utterances)
    assert (len(elements.of("img")), len(elements.of("audio")), len(elements.of("svg"))) == (
        3 * count,
        2 * count,
        2 * count,
    )
    uri = elements.of("audio")[1]["src"] or ""
    kind, _, content = uri.partition(";base64,")
    assert kind == "data:audio/flac"
    heard, rate = soundfile.read(io.BytesIO(base64.b64decode(content)))
    assert rate == 24000
    assert np.abs(heard - facts.utterances[0].audio).max() <= 2**-15


def test_page_escapes_text(page: Path) -> None:
    """Phonemes are input of a user, so they must not become markup."""
    assert "<b>one</b>" not in page.read_text(encoding="utf-8")
    assert "<b>one</b> & ˈ" in Elements(page).text


def test_page_has_value_and_status_of_every_gate(page: Path) -> None:
    text = re.sub(r"\s+", " ", Elements(page).text)
    assert "audio: gain 3.0 dB, at least 10 failed" in text
    assert "audio: gain 3.0 dB measured, no limit" in text
    assert "audio: SNR 112.5 dB, at least 90 passed" in text
    assert "decoder-64: one: min_gain_db" in text
    assert "On 2 of 3 utterances" in text
    assert "14 passed2 failed, 0 not run, 2 measured without a limit" in text
    assert re.search(r"three \(90\) ?not run: longer than the bucket", text)
    assert "Not run, longer than the bundle's buckets: three." in text
    assert "toy failed" in text


def test_page_begins_with_verdict_size_speed_gain_and_players(page: Path) -> None:
    text = re.sub(r"\s+", " ", Elements(page).text)
    order = ["toy failed", "3.7 MB", "4.0× real time", "29.5 dB", "The first sentence.", "The second one."]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    elements = [tag for tag, _ in Elements(page).found]
    assert elements.index("audio") < elements.index("details") < elements.index("img")


def test_page_has_no_speed_of_emulated_code(facts: BundleFacts, tmp_path: Path) -> None:
    emulated = [replace(spoken, seconds=None) for spoken in facts.utterances]
    text = Elements(write_page(replace(facts, utterances=emulated), tmp_path / "report.html")).text
    assert "real time" not in text


def test_bar_goes_from_the_limit_to_the_value(page: Path) -> None:
    """From -10 to 150 dB, the limits 90 and 10 dB are at 62.5 and 12.5 %, the values at 76.6 and 8.1 %."""
    content = page.read_text(encoding="utf-8")
    assert '<i style="left: 62.5%; width: 14.1%"></i><b style="left: 62.5%"></b>' in content
    assert '<i style="left: 8.1%; width: 4.4%"></i><b style="left: 12.5%"></b>' in content


def test_axes_have_labels(page: Path) -> None:
    text = re.sub(r"\s+", " ", Elements(page).text)
    assert "048 12 kHz" in text.replace(" 12", "12").replace("12 kHz", " 12 kHz")
    assert "00.20.40.60.8 1 s" in text.replace("1 s", " 1 s")


def test_page_of_a_bundle_that_passed(facts: BundleFacts, tmp_path: Path) -> None:
    good = [r for r in facts.reports if r["passed"]]
    text = Elements(write_page(replace(facts, reports=good), tmp_path / "report.html")).text
    assert "toy passed" in re.sub(r"\s+", " ", text)


def test_page_shows_audio_of_another_length(facts: BundleFacts, tmp_path: Path) -> None:
    one = facts.utterances[0]
    for samples in (one.audio.size - 600, one.audio.size + 600):
        cut = replace(one, audio=np.resize(one.audio, samples), durations=one.durations + np.array([1, 0]))
        text = Elements(write_page(replace(facts, utterances=[cut]), tmp_path / "report.html")).text
        assert "1 tokens differ" in text


def test_page_shows_silence_and_equal_audio(facts: BundleFacts, tmp_path: Path) -> None:
    one = facts.utterances[0]
    truth = one.reference.truth
    silent = replace(one.reference, truth=replace(truth, audio=0 * truth.audio, f0=0 * truth.f0))
    for spoken in (
        replace(one, audio=truth.audio.astype(np.float32)),
        replace(one, reference=silent, audio=0 * one.audio, f0=0 * one.f0),
    ):
        page = write_page(replace(facts, utterances=[spoken]), tmp_path / "report.html")
        text = page.read_text(encoding="utf-8")
        assert "nan" not in text.lower().replace("nano", "")


def test_worst_value_of_all_utterances() -> None:
    result = report("f0n", 64, verdict("min_snr_db", 100.0, 80.0, "passed"))
    result["utterances"][1]["verdicts"] = [verdict("min_snr_db", 79.0, 80.0, "failed")]
    (cell,) = worst(result)
    assert (cell.value, cell.status) == (79.0, "failed")
    result["utterances"][1]["verdicts"] = [verdict("min_snr_db", "nan", 80.0, "failed")]
    assert worst(result)[0].value == "nan"
    result = report("speech", None, verdict("max_samples_off", 0.0, 0.0, "passed"))
    result["utterances"][0]["verdicts"] = [verdict("max_samples_off", 600.0, 0.0, "failed")]
    assert worst(result)[0].value == 600.0
