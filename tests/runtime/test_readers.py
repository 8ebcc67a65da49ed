"""Documents: what is spoken of each kind, and what is refused."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime import Synthesizer
from kokoro_tvm.runtime.readers import READERS, Document, read_document
from kokoro_tvm.runtime.readers.document import Chapter, Slot


def read(name: str, data: str | bytes) -> Document:
    path = Path(name)
    return READERS[path.suffix](data.encode() if isinstance(data, str) else data, path)


def test_text() -> None:
    document = read("a.txt", "One.\r\n\r\nTwo.")
    assert (document.title, document.text, document.starts) == ("a", "One.\n\nTwo.", (0,))
    assert read("a.txt", "é".encode("utf-16")).text == "é"
    assert read("a.txt", b"\xef\xbb\xbfHi").text == "Hi"
    with pytest.raises(InputError, match="not UTF-8"):
        read("a.txt", b"\xff\x00\x80")


MARKDOWN = """# The *Title* #

Some **bold**, _thin_ and `code`, snake_case, 2 * 3 * 4.
It goes [on](http://x.y/z) [Kokoro](/kˈOkəɹO/)![a cat](c.png).

```python
left = "out"
```

Second
------
* one
* [x] two
  goes on
1. three

> quoted
> on

| a | b |
|---|---|
| 1 | 2 |

### Third
***
&amp; \\*star\\* <b>x</b><!-- no -->
"""


def test_markdown() -> None:
    document = read("a.md", MARKDOWN)
    assert document.title == "The Title"
    assert [chapter.title for chapter in document.chapters] == ["The Title", "Second"]
    first, second = (chapter.text.split("\n\n") for chapter in document.chapters)
    assert first == [
        "The Title",
        "Some bold, thin and code, snake_case, 2 * 3 * 4.\nIt goes on [Kokoro](/kˈOkəɹO/)a cat.",
    ]
    assert second[:5] == ["Second", "one", "two\ngoes on", "three", "quoted\non"]
    assert second[5:] == ["a, b", "1, 2", "Third", "& *star* x"]
    assert document.notes == ("Left out: 1 block of code.",)


HTML = """<!doctype html><html><head><title>My &amp; page</title><style>p {}</style></head><body>
<nav><a>menu</a></nav><h1>One</h1><p>Hello <b>big</b>
 world.<br>Next</p><script>alert("x")</script>
<ul><li>a<li>b</ul><table><tr><td>1</td><td>2</td></tr></table><h2>Two</h2>text &lt;3<p>end"""


def test_html() -> None:
    document = read("a.html", HTML)
    assert document.title == "My & page"
    assert document.chapters == (
        Chapter("One", "One\n\nHello big world.\nNext\n\na\n\nb\n\n1, 2"),
        Chapter("Two", "Two\n\ntext <3\n\nend"),
    )
    assert read("a.html", "plain").chapters == (Chapter("", "plain"),)


@given(st.text(alphabet="<>/&;ab1 \n\"'=!-h", max_size=80))
def test_html_of_anything(source: str) -> None:
    for chapter in read("a.html", source).chapters:
        assert chapter.text.strip()


@given(st.text(alphabet="#*_`~[]()<>!|-=+\\>ab1. \n", max_size=80))
def test_markdown_of_anything(source: str) -> None:
    read("a.md", source)


CONTAINER = '<container><rootfiles><rootfile full-path="O/b.opf"/></rootfiles></container>'
PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">
<metadata><dc:title>A Book</dc:title></metadata><manifest>
<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="b" href="t/two%20b.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="one.xhtml" media-type="application/xhtml+xml"/>
<item id="x" href="gone.xhtml" media-type="application/xhtml+xml"/>
<item id="p" href="p.png" media-type="image/png"/></manifest>
<spine><itemref idref="n"/><itemref idref="a"/><itemref idref="b"/>
<itemref idref="x"/><itemref idref="p"/></spine>
</package>"""
PAGES = {
    "O/one.xhtml": "<html><head><title>Front</title></head><body><p>First &eacute; page.</p></body></html>",
    "O/t/two b.xhtml": "<html><body><h1>Chapter</h1><p>Second.</p></body></html>",
    "O/nav.xhtml": "<html><body><p>Contents</p></body></html>",
}


def book(**changed: str | None) -> bytes:
    files = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "O/b.opf": PACKAGE,
    } | PAGES
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (files | changed).items():
            if content is not None:
                archive.writestr(name, content)
    return data.getvalue()


def test_epub() -> None:
    document = read("a.epub", book())
    assert document.title == "A Book"
    assert document.chapters == (Chapter("Front", "First é page."), Chapter("Chapter", "Chapter\n\nSecond."))
    assert document.text[document.starts[1] :].startswith("Chapter")
    assert document.notes == ("Left out: O/gone.xhtml is missing in the book.",)


BOMB = "<html><body><p>" + "a" * (30 << 20) + "</p></body></html>"
LAUGHS = '<!DOCTYPE a [<!ENTITY b "bbb"><!ENTITY c "&b;&b;">]>' + CONTAINER


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no EPUB, or damaged"),
        (b"PK\x03\x04 nonsense", "no EPUB, or damaged"),
        (book(**{"META-INF/container.xml": None}), "lacks META-INF/container.xml"),
        (book(**{"META-INF/container.xml": "<a/>"}), "lacks a package file"),
        (book(**{"META-INF/container.xml": "<a"}), "is not XML"),
        (book(**{"META-INF/container.xml": LAUGHS}), "declares entities"),
        (book(**{"META-INF/rights.xml": "<r/>"}), "encrypted"),
        (book(**{"META-INF/encryption.xml": "<e><EncryptedData/></e>"}), "encrypted"),
        (book(**{"O/one.xhtml": BOMB}), "unpacks to more than"),
        (book()[:-400], "no EPUB, or damaged"),
    ],
)
def test_epubs_that_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read("a.epub", data)


SRT = """\ufeff1
00:00:01,000 --> 00:00:02,500
Hello <i>you</i>,
{\\an8}there.

2
00:00:00.5 --> 00:00:00,900
First.

3
00:00:05,000 --> 00:00:06,000
♪♪
"""


def test_srt() -> None:
    document = read("a.srt", SRT)
    assert document.slots == (Slot(0.5, 0.9, "First."), Slot(1.0, 2.5, "Hello you, there."))
    assert document.text == "First.\n\nHello you, there."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "no line with times"),
        ("1\nsoon --> later\nHi", "are no times"),
        ("00:00:02,000 --> 00:00:01,000\nHi", "ends before it starts"),
    ],
)
def test_srt_that_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read("a.srt", text)


def test_files(tmp_path: Path) -> None:
    (tmp_path / "a.TXT").write_text("Hi.")
    assert read_document(tmp_path / "a.TXT").text == "Hi."
    (tmp_path / "b.md").write_text("# ***\n")
    for name, message in (
        ("b.md", "nothing to speak"),
        ("c.txt", "cannot be read"),
        ("d.pdf", r"files to speak are"),
    ):
        with pytest.raises(InputError, match=message):
            read_document(tmp_path / name)


def test_a_plan_is_a_document_too(fake_synthesizer: Synthesizer) -> None:
    plan = fake_synthesizer.plan_phonemes(["ab cd.", "ef."])
    document = read("edited.json", plan.to_json())
    assert (document.plan, document.text) == (plan, "ab cd . ef .")
    with pytest.raises(InputError, match=r"^edited\.json: In the plan, pieces\[0\] should be a JSON object"):
        read("edited.json", plan.to_json().replace('"pieces": [', '"pieces": [1,'))


HOSTILE = [
    *("<span>", "<td>", "a<td>", "a<b>", "<svg></math>", "<!--", "<![CDATA[", "<a ", "<a b='", "</", "<?"),
    *("&a", "a<br>", "<title>a", "<script>", "<style>a</style", '<a =" ', "<a b = ", "*a ", "_a ", "_. "),
    *("._a ", "`a ", "` `` ", "[", "[a](", "[a]((a)", "![", "a\n", "- a\n", "> a\n", "| a ", "# #a"),
    *("|-", "- -|", "**a *a ", "~~a ", "<a@", "[^", "```\n"),
]  # fmt: skip


@pytest.mark.parametrize("suffix", [".html", ".md"])
@pytest.mark.parametrize("repeated", HOSTILE)
def test_twice_the_text_takes_twice_the_lines_of_the_reader(suffix: str, repeated: str) -> None:
    """Its patterns are tried by tests/test_patterns.py."""

    def lines(count: int) -> int:
        taken = 0

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal taken
            taken += event == "line"
            return trace

        sys.settrace(trace)
        try:
            READERS[suffix]((repeated * count).encode(), Path("a"))
        finally:
            sys.settrace(None)
        return taken

    assert lines(80) < 2.5 * lines(40) + 100


@pytest.mark.parametrize(
    ("suffix", "text", "spoken"),
    [
        (".html", "<p>a < b &amp; c<p>d <!-- e > f --> g", "a < b & c\n\nd g"),
        (".html", "<p>a<script>if (b < c) '<p>d'</script>e<style/>f", "aef"),
        (".html", "<p title=\"a > b\" class = 'c>'>d<br/>e", "d\ne"),
        (".html", "<p>a<svg><title>b</title></svg>c</p><svg>d<p>e</svg>f", "ac\n\nf"),
        (".html", "<p>a &#" + "9" * 5000 + "; b", "a \ufffd b"),
        (".html", "<p>a<p b='c>d", "a"),
        (".html", "<tr><td>a<td> <td>b</tr>", "a, b"),
        (".md", "a **b c** *d* _e_, _f_ 2*3 *g", "a b c d e, f 2*3 *g"),
        (".md", "[a](https://b.example/c_(d)) ![e](f) ``g`h`` [i][j] [k](/lˈ/)", "a e g`h i [k](/lˈ/)"),
        (".md", "a <!-- b --> c <!-- d", "a  c <!-- d"),
        (".md", "| a | b |\n| :-: | --- |\n| c | d |", "a, b\n\nc, d"),
    ],
)
def test_marks_that_are_whole_and_marks_that_are_not(suffix: str, text: str, spoken: str) -> None:
    assert READERS[suffix](text.encode(), Path("a")).text == spoken
