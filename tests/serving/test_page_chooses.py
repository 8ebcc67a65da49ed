"""Input of the page besides a text: files, voices, languages, formats."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import TEXT, Page, page_of, serving_slowly
from serving import Server

from kokoro_tvm.runtime.documents.readers import read_document

pytestmark = pytest.mark.slow("opens pages in Chromium")
HTML = """<!doctype html><html><head><title>Not this</title><style>p { color: red }</style></head>
<body><nav>Not this <b>either</b></nav><h1>A <i>big</i>
 dog</h1><p style="color: red">He ran&nbsp;home &amp; back.<br>  Then   no more.</p>
<p title="a > b" class='c'>One.</p><script>alert("no")</script>
<table><tr><th>Dog</th><td>bad</td></tr><tr><td>Cab <td>good</table>
<ul><li>One<li>Two <ul><li>Three</li></ul></ul>
<noscript>no</noscript><svg><text>no</text></svg>Loose text<template><p>no</p></template></body></html>"""
SRT = """1
00:00:01,000 --> 00:00:02,500
A <i>big</i> dog
{\\an8}ran home.

2
00:00:03,000 --> 00:00:04,000
...

3
00:00:05.000 --> 00:00:06.000 X1:0
If a < b, go.
"""
CONTAINER = """<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>
<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""
OPF = """<package xmlns="http://www.idpf.org/2007/opf"><metadata/><manifest>
<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="one" href="text/one%20.xhtml" media-type="application/xhtml+xml"/>
<item id="two" href="../two.html" media-type="text/html"/>
<item id="gone" href="gone.html" media-type="text/html"/>
<item id="aside" href="../two.html" media-type="text/html"/>
<item id="css" href="a.css" media-type="text/css"/></manifest><spine>
<itemref idref="nav"/><itemref idref="one"/><itemref idref="css"/><itemref idref="two"/>
<itemref idref="gone"/><itemref idref="aside" linear="no"/></spine></package>"""
ONE = """<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head>
<body><h1>One</h1><p>A dog<a id="x"/> ran.</p></body></html>"""


def book(**others: str) -> bytes:
    files = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": OPF,
        "OEBPS/nav.xhtml": "<html><body>Not this</body></html>",
        "OEBPS/text/one .xhtml": ONE,
        "OEBPS/a.css": "p {}",
        "two.html": "<p>Two&nbsp;men <b>ran</b>",
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (files | others).items():
            stored = zipfile.ZIP_STORED if name == "mimetype" else None
            archive.writestr(name, content, stored)
    return made.getvalue()


UNUSUAL = """<head><title>Not this</title><p>A <ruby>b<rp>(</rp><rt>not this</rt><rp>)</rp></ruby>.
<p hidden>Not this<p>C<i style="display: none">not this</i><i aria-hidden=true>not this</i>, son<sup>3</sup>
km<sup>2</sup> 1<sup>st</sup><a role=doc-noteref href='#x'>1</a> 10<sup>16</sup> <sup>[4]</sup>
<ol start=3><li>a<li value=9><p>b<ul><li>c</ul><li>d</ol><p>e"""

FILES = {
    "a.txt": "He ran.\r\nHome.\n".encode("utf-8-sig"),
    "b.TEXT": "Über 5 Å".encode("utf-16"),
    "c.html": HTML.encode(),
    "d.xhtml": ONE.encode(),
    "e.srt": SRT.encode(),
    "f.epub": book(),
    "g.ssml": b"<speak>A dog.</speak>",
    "h.html": UNUSUAL.encode(),
    "i.html": b"<meta charset=ISO-8859-1><p>caf\xe9",
    "j.srt": b"1\n00:00:01,000 --> 00:00:02,000\nA\n\nB\n2\n00:00:03,000 --> 00:00:04,000\nC\n",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving_slowly(tmp_path_factory.mktemp("served") / "toy") as running:
        yield running


def choose(page: Page, name: str, content: bytes) -> None:
    page.tab.set_input_files("#file", {"name": name, "mimeType": "", "buffer": content})


def opened(page: Page, name: str, content: bytes) -> str:
    choose(page, name, content)
    page.tab.wait_for_function(
        "name => status.textContent === `${name} is open.`".replace(
            "status.", "document.getElementById('status')."
        ),
        arg=name,
    )
    return str(page.tab.input_value("#text"))


@pytest.mark.parametrize("name", FILES)
def test_page_reads_a_file_as_python_does(page: Page, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    assert opened(page, name, FILES[name]) == read_document(tmp_path / name).text
    assert page.focused() == "text"
    assert page.spoken() == []


def test_page_keeps_markdown(page: Page) -> None:
    """The front end reads it, and the user can edit it."""
    assert opened(page, "a.md", b"# A dog\n\n*He* ran.") == "# A dog\n\n*He* ran."


DROP = """([type, name, content]) => {
  const data = new DataTransfer();
  data.items.add(new File([content], name));
  document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def test_page_accepts_a_dropped_file(page: Page, server: Server) -> None:
    """While a text is spoken too, which ends."""
    page.speak(TEXT * 3)
    page.state("speaking")
    page.tab.evaluate(DROP, ["dragover", "b.txt", ""])
    assert page.tab.locator("#paper.over").count() == 1
    page.tab.evaluate(DROP, ["drop", "b.txt", "No man ran."])
    page.tab.wait_for_selector("#text:visible")
    assert page.tab.locator("#paper.over").count() == 0
    assert page.tab.input_value("#text") == "No man ran."
    assert page.tab.inner_text("#play") in ("Speak", "Play")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.pdf", b"%PDF", "a.pdf cannot be opened: choose a text, Markdown, HTML, EPUB or SRT file."),
        ("noend", b"a", "noend cannot be opened: choose a text, Markdown, HTML, EPUB or SRT file."),
        ("a.txt", b"\xff\xff", "a.txt cannot be opened: it is no text in UTF-8. Save it in UTF-8 first."),
        ("a.txt", b" ...", "There is nothing to speak in a.txt: it has no letter and no digit."),
        (
            "a.srt",
            b"He ran.",
            'a.srt cannot be opened: it is no SRT: "He ran." has no line with times (-->).',
        ),
        ("a.epub", b"PK", "a.epub cannot be opened: it is no archive, or damaged."),
        ("a.epub", book()[:-30], "a.epub cannot be opened: it is no archive, or damaged."),
        (
            "a.epub",
            book(**{"META-INF/rights.xml": "<r/>"}),
            "a.epub cannot be opened: it is encrypted (DRM).",
        ),
        ("a.epub", book(**{"META-INF/container.xml": "<c/>"}), "a.epub cannot be opened: it lacks a file."),
        ("a.txt", b"a" * 2_000_001, "a.txt has 2,000,001 characters, too many for one speech. Divide it."),
    ],
)
def test_page_reports_an_unreadable_file(page: Page, name: str, content: bytes, message: str) -> None:
    page.tab.fill("#text", "Stays.")
    choose(page, name, content)
    assert page.problem() == message
    assert page.tab.input_value("#text") == "Stays."


def test_page_searches_voices(page: Page) -> None:
    shown = "voices => voices.filter(voice => voice.checkVisibility()).map(voice => voice.dataset.name)"
    page.tab.click("#voice-panel summary")
    page.tab.fill("#find", "british")
    assert page.tab.eval_on_selector_all(".voice", shown) == ["bf_emma"]
    assert page.tab.locator("fieldset:visible").count() == 1
    page.tab.fill("#find", "nobody")
    assert page.tab.eval_on_selector_all(".voice", shown) == []
    assert page.tab.get_by_text('No voice matches "nobody".').is_visible()
    page.tab.fill("#find", "ada")
    assert page.tab.inner_text("#found") == ""
    page.tab.check("#voice-am_adam", force=True)
    assert page.tab.inner_text("#voice-title") == "Adam"


def test_page_offers_languages(page: Page, browser: Any, server: Server) -> None:
    page.tab.click("#voice-panel summary")
    assert page.tab.is_hidden("#language")
    page.tab.click("[data-add=bf_emma]")
    options = page.tab.eval_on_selector_all("#language option", "options => options.map(({ text }) => text)")
    assert options == ["American English", "British English"]
    page.speak("No man ran.")
    page.state("ended")
    page.tab.click("#edit")
    page.tab.select_option("#language", "b")
    assert page.tab.inner_text("#voice-detail") == "British English"
    assert page.tab.get_attribute("#text", "lang") == "en-GB"
    page.tab.click("#play")
    page.state("ended")
    first, second = page.spoken()
    assert "lang_code" not in first
    assert second["lang_code"] == "b"
    page.tab.reload()
    page.tab.wait_for_selector("#play:enabled")
    assert page.tab.inner_text("#voice-detail") == "British English"
    page.tab.click("#share")
    with page_of(browser, server) as other:
        other.open(page.tab.url.removeprefix(f"{server.url}/"))
        assert other.tab.inner_text("#voice-detail") == "British English"
    page.tab.click("#voice-panel summary")
    page.tab.check("#voice-am_adam", force=True)
    assert page.tab.is_hidden("#language")
    assert page.tab.inner_text("#voice-detail") == "American English, male"


def test_page_can_disable_markup(page: Page, browser: Any, server: Server) -> None:
    page.tab.click("#options summary")
    page.tab.check("#plain")
    page.speak("He ran [pause:1s] home.")
    page.state("ended")
    assert page.spoken()[-1]["markup"] is False
    page.tab.reload()
    page.tab.wait_for_selector("#play:enabled")
    assert page.tab.is_checked("#plain")
    page.tab.fill("#text", "He ran.")
    page.tab.click("#share")
    with page_of(browser, server) as other:
        other.open(page.tab.url.removeprefix(f"{server.url}/"))
        assert other.tab.is_checked("#plain")


@pytest.mark.parametrize("format", ["mp3", "flac", "opus", "aac"])
def test_page_saves_in_a_format_of_the_server(page: Page, format: str, tmp_path: Path) -> None:
    import av

    page.tab.select_option("#format", format)
    page.speak("No man ran.")
    page.state("ended")
    with page.tab.expect_download() as download:
        page.tab.click("#save")
    assert download.value.suggested_filename == f"no-man-ran.{format}"
    download.value.save_as(tmp_path / "speech")
    with av.open(tmp_path / "speech") as file:
        samples = sum(frame.to_ndarray().shape[-1] for frame in file.decode(audio=0))
    assert samples > 0
    assert page.spoken()[-1]["response_format"] == format
    page.tab.reload()
    page.tab.wait_for_selector("#play:enabled")
    assert page.tab.input_value("#format") == format


def test_page_saves_a_speech_in_two_voices(page: Page) -> None:
    """A server speaks all of a text alike, so only what the page has itself is the speech that was heard."""
    page.speak()
    page.state("speaking")
    page.tab.wait_for_selector('.said:text-is("told")')
    page.tab.click("#voice-panel summary")
    page.tab.check("#voice-am_adam", force=True)
    page.state("ended")
    page.tab.select_option("#format", "mp3")
    page.tab.click("#save")
    assert page.problem() == (
        "The MP3 file could not be made. It would be of all the text, in one voice and at one speed. Speak "
        "it once more, or save what there is as WAV."
    )
    page.tab.select_option("#format", "wav")
    with page.tab.expect_download() as download:
        page.tab.click("#save")
    assert len(np.frombuffer(Path(download.value.path()).read_bytes()[44:], "<i2")) > 0
    assert page.tab.is_hidden("#problem")
