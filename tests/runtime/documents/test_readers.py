"""Readers of documents: text, notes, errors and linear time."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import Synthesizer
from kokoro_tvm.runtime.documents.readers import READERS, Document, read_document
from kokoro_tvm.runtime.documents.readers.document import Chapter, Slot


def read(name: str, data: str | bytes) -> Document:
    path = Path(name)
    return READERS[path.suffix](data.encode() if isinstance(data, str) else data, path)


def test_text_is_decoded() -> None:
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


def test_markdown_is_read() -> None:
    document = read("a.md", MARKDOWN)
    assert document.title == "The Title"
    assert [chapter.title for chapter in document.chapters] == ["The Title", "Second"]
    first, second = (chapter.text.split("\n\n") for chapter in document.chapters)
    assert first == [
        "The Title",
        "Some bold, thin and code, snake_case, 2 * 3 * 4. It goes on [Kokoro](/kˈOkəɹO/)a cat.",
    ]
    assert second[:5] == ["Second", "one", "two goes on", "1. three", "quoted on"]
    assert second[5:] == ["a, b", "1, 2", "Third", "& *star* x"]
    assert document.notes == ("Left out: 1 block of code.",)


HTML = """<!doctype html><html><head><title>My &amp; page</title><style>p {}</style></head><body>
<nav><a>menu</a></nav><h1>One</h1><p>Hello <b>big</b>
 world.<br>Next</p><script>alert("x")</script>
<ul><li>a<li>b</ul><table><tr><td>1</td><td>2</td></tr></table><h2>Two</h2>text &lt;3<p>end"""


def test_html_is_read() -> None:
    document = read("a.html", HTML)
    assert document.title == "My & page"
    assert document.chapters == (
        Chapter("One", "One\n\nHello big world.\nNext\n\na\n\nb\n\n1, 2"),
        Chapter("Two", "Two\n\ntext <3\n\nend"),
    )
    assert read("a.html", "plain").chapters == (Chapter("", "plain"),)
    assert read("a.html", "<h1>One</h1><h2>A start</h2>a<h2>B</h2>b").chapters == (
        Chapter("One. A start", "One\n\nA start\n\na"),
        Chapter("B", "B\n\nb"),
    )


@given(st.text(alphabet="<>/&;ab1 \n\"'=!-h", max_size=80))
def test_html_accepts_any_text(source: str) -> None:
    for chapter in read("a.html", source).chapters:
        assert chapter.text.strip()


@given(st.text(alphabet="#*_`~[]()<>!|-=+\\>ab1. \n", max_size=80))
def test_markdown_accepts_any_text(source: str) -> None:
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


def book(**changed: str | bytes | None) -> bytes:
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


def test_epub_is_read() -> None:
    document = read("a.epub", book())
    assert document.title == "A Book"
    assert document.chapters == (Chapter("Front", "First é page."), Chapter("Chapter", "Chapter\n\nSecond."))
    assert document.text[document.starts[1] :].startswith("Chapter")
    assert document.notes == (
        "Left out: O/gone.xhtml is missing in the book.",
        "Left out: O/p.png is no text but image/png.",
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('media-type="image/png"/>', 'media-type="image/png" properties="cover-image"/>'),
        ("</metadata>", '<meta name="cover" content="p"/></metadata>'),
    ],
)
def test_epub_has_author_and_cover(old: str, new: str) -> None:
    package = PACKAGE.replace(old, new).replace("<metadata>", "<metadata><dc:creator>A. Writer</dc:creator>")
    document = read("a.epub", book(**{"O/b.opf": package, "O/p.png": b"a picture"}))
    assert (document.author, document.cover) == ("A. Writer", b"a picture")
    assert read("a.epub", book()).cover == b""


def test_epub_reads_pages_and_notes_others() -> None:
    """Pages have their own encodings; notes name the omitted files."""
    package = (
        PACKAGE.replace(
            '"one.xhtml" media-type="application/xhtml+xml"', '"one.xhtml" media-type="text/x-oeb1-document"'
        )
        .replace('<itemref idref="b"/>', '<itemref idref="b" linear="no"/>')
        .replace('idref="x"', 'idref="z"')
    )
    western = (
        "<?xml version='1.0' encoding='ISO-8859-1'?><p>caf\xe9<a epub:type='noteref' href='#n'>1</a></p>"
    )
    document = read("a.epub", book(**{"O/b.opf": package, "O/one.xhtml": western.encode("latin-1")}))
    assert document.text == "café"
    assert document.notes == (
        "Left out: O/t/two b.xhtml is outside of the reading order.",
        "Left out: z is missing in the list of the book's files.",
        "Left out: O/p.png is no text but image/png.",
        "Left out: 1 mark of notes.",
    )


BOMB = "<html><body><p>" + "a" * (30 << 20) + "</p></body></html>"
LAUGHS = '<!DOCTYPE a [<!ENTITY b "bbb"><!ENTITY c "&b;&b;">]>' + CONTAINER

DEFAULTS = '<!DOCTYPE a [<!ATTLIST a b CDATA "A">]>' + CONTAINER
ENCODING = "<?xml version='1.0' encoding='no-such'?>" + CONTAINER


def compressed(method: int) -> bytes:
    """Return a damaged book with another compression method."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        archive.writestr("META-INF/container.xml", CONTAINER)
    content = bytearray(data.getvalue())
    content[70] ^= 255
    return bytes(content)


def test_epub_accepts_a_plain_document_type() -> None:
    doctype = '<!DOCTYPE package PUBLIC "+//ISBN 0-9673008-1-9//DTD OEB 1.2 Package//EN" "oebpkg12.dtd">'
    assert (
        read("a.epub", book(**{"O/b.opf": doctype + PACKAGE[PACKAGE.index("<package") :]})).title == "A Book"
    )


@pytest.mark.slow("measures the memory of a process")
def test_epub_memory_is_bounded(tmp_path: Path) -> None:
    bomb = f'<!DOCTYPE a [<!ATTLIST b c CDATA "{"A" * 500_000}">]><a>{"<b/>" * 10_000}</a>'
    (tmp_path / "a.epub").write_bytes(book(**{"META-INF/container.xml": bomb}))
    program = (
        "import resource, sys\n"
        "from kokoro_tvm.runtime.documents.readers import read_document\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30,) * 2)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: read_document(sys.argv[1])\n"
        "except Exception as error: print(type(error).__name__)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "a.epub")]
    name, kilobytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert name == "InputError"
    assert int(kilobytes) < 20_000


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no EPUB, or damaged"),
        (b"PK\x03\x04 nonsense", "no EPUB, or damaged"),
        (book(**{"META-INF/container.xml": None}), "lacks META-INF/container.xml"),
        (book(**{"META-INF/container.xml": "<a/>"}), "lacks a package file"),
        (book(**{"META-INF/container.xml": "<a"}), "is not XML"),
        (book(**{"META-INF/container.xml": LAUGHS}), "declares entities"),
        (book(**{"META-INF/container.xml": DEFAULTS}), "declares entities or attributes"),
        (book(**{"META-INF/container.xml": DEFAULTS.encode("utf-16")}), "declares entities or attributes"),
        (book(**{"META-INF/container.xml": ENCODING}), "is not XML"),
        (book(**{"META-INF/encryption.xml": DEFAULTS}), "declares entities or attributes"),
        (compressed(zipfile.ZIP_LZMA), "compressed otherwise than by deflate"),
        (compressed(zipfile.ZIP_BZIP2), "compressed otherwise than by deflate"),
        (book(**{"META-INF/rights.xml": "<r/>"}), "encrypted"),
        (book(**{"META-INF/encryption.xml": "<e><EncryptedData/></e>"}), "encrypted"),
        (book(**{"O/one.xhtml": BOMB}), "unpacks to more than"),
        (book()[:-400], "no EPUB, or damaged"),
    ],
)
def test_epub_refuses_invalid_books(data: bytes, message: str) -> None:
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


def test_srt_is_read() -> None:
    document = read("a.srt", SRT)
    assert document.slots == (Slot(0.5, 0.9, "First."), Slot(1.0, 2.5, "Hello you, there."))
    assert document.text == "First.\n\nHello you, there."


def cue(number: int | str, start: int, end: int, text: str) -> str:
    return f"{number}\n00:00:0{start},000 --> 00:00:0{end},000\n{text}\n"


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        (cue(1, 1, 2, "A") + cue(2, 3, 4, "B"), [(1, 2, "A"), (3, 4, "B")]),
        (cue(1, 1, 2, "A\n\nB\n1984") + cue(2, 3, 4, "C"), [(1, 2, "A B 1984"), (3, 4, "C")]),
        (cue(2, 5, 8, "A") + "\n" + cue(1, 1, 7, "B"), [(1, 7, "B"), (5, 8, "A")]),
        (cue("", 1, 2, "A\n1984") + cue("", 3, 4, "B"), [(1, 2, "A 1984"), (3, 4, "B")]),
        (cue(1, 1, 2, "A\n7") + cue(2, 3, 4, "B"), [(1, 2, "A 7"), (3, 4, "B")]),
    ],
)
def test_srt_accepts_irregular_cues(text: str, slots: list[tuple[int, int, str]]) -> None:
    document = read("a.srt", text)
    assert document.slots == tuple(Slot(*each) for each in slots)
    assert document.notes == ()


def test_srt_notes_invalid_cues() -> None:
    document = read(
        "a.srt",
        "By N.N.\n\n"
        + cue(1, 1, 2, "A")
        + "2\nsoon --> later\nB\n\n"
        + cue(3, 5, 4, "C")
        + "4\n00:00:06,000 -> 00:00:07,000\nD\n",
    )
    assert document.slots == (Slot(1, 2, "A"),)
    assert document.notes == (
        "Left out: line 1, 'By N.N.', has no line with times (-->).",
        "Left out: line 7, 'soon --> later', are no times such as 00:00:01,000.",
        "Left out: the cue in line 11, '00:00:05,000 --> 00:00:04,000', ends before it starts.",
        "Left out: line 14, '00:00:06,000 -> 00:00:07,000', are no times such as 00:00:01,000.",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("hello", "no line with times"),
        ("1\nsoon --> later\nHi", "are no times"),
        ("00:00:02,000 --> 00:00:01,000\nHi", "ends before it starts"),
    ],
)
def test_srt_refuses_files_without_cues(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read("a.srt", text)


def test_read_document_selects_the_reader_by_suffix(tmp_path: Path) -> None:
    (tmp_path / "a.TXT").write_text("Hi.")
    assert read_document(tmp_path / "a.TXT").text == "Hi."
    (tmp_path / "b.md").write_text("# ***\n")
    for name, message in (
        ("b.md", "nothing to speak"),
        ("c.txt", "cannot be read"),
        ("d.doc", r"files to speak are"),
    ):
        with pytest.raises(InputError, match=message):
            read_document(tmp_path / name)


def test_read_document_reads_plans(fake_synthesizer: Synthesizer) -> None:
    plan = fake_synthesizer.plan_phonemes(["ab cd.", "ef."])
    document = read("edited.json", plan.to_json())
    assert (document.plan, document.text) == (plan, "ab cd . ef .")
    with pytest.raises(InputError, match=r"^edited\.json: In the plan, pieces\[0\] should be a JSON object"):
        read("edited.json", plan.to_json().replace('"pieces": [', '"pieces": [1,'))


HOSTILE = [
    *("<span>", "<td>", "a<td>", "a<b>", "<svg></math>", "<!--", "<![CDATA[", "<a ", "<a b='", "</", "<?"),
    *("&a", "a<br>", "<title>a", "<script>", "<style>a</style", '<a =" ', "<a b = ", "*a ", "_a ", "_. "),
    *("._a ", "`a ", "` `` ", "[", "[a](", "[a]((a)", "![", "a\n", "- a\n", "> a\n", "| a ", "# #a"),
    *("|-", "- -|", "**a *a ", "~~a ", "<a@", "[^", "```\n", "[^a]: ", "1. ", "> - ", "---\n", "a:\n"),
    *("<sup>", "<sup></sup>", "<li hidden>", "<p hidden><b>", "<ruby><rt>", "<a role=doc-noteref>", "<ol>"),
    *("1\n", "0:0:1,0 --> 0:0:2,0\n", "a --> b\n", "<a", "</li>", "[a](<b ", '[a](b "c ', "[a](b 'c "),
    *("[a](b (c ", "[a]: b 'c\n", "[a]: b\n", "<?a", "<!A ", "&#", "*a_ ", "~~~", "|a|\n|-|\n", "a\n=\n"),
    *("\\", "[a][", "[]", "a\n\n", "  - a\n", "![a](b)"),
]  # fmt: skip


def lines_of(suffix: str, source: str) -> int:
    """Count the lines of Python that a reader executes."""
    taken = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal taken
        taken += event == "line"
        return trace

    sys.settrace(trace)
    try:
        with suppress(InputError):
            READERS[suffix](source.encode(), Path("a"))
    finally:
        sys.settrace(None)
    return taken


@pytest.mark.parametrize("suffix", [".html", ".md", ".srt"])
@pytest.mark.parametrize("repeated", HOSTILE)
def test_reader_takes_linear_time(suffix: str, repeated: str) -> None:
    """tests/test_patterns.py checks regular expressions."""
    assert lines_of(suffix, repeated * 80) < 2.5 * lines_of(suffix, repeated * 40) + 100


@pytest.mark.parametrize(
    ("opening", "closing"), [("[", "]"), ("[a ", "] "), ("![", "](b)"), ("[", "](b)"), ("(", ")")]
)
def test_markdown_brackets_take_linear_time(opening: str, closing: str) -> None:
    for sources in (
        [opening * n + "a" + closing * n for n in (40, 80)],
        [opening * n + closing for n in (40, 80)],
    ):
        assert lines_of(".md", sources[1]) < 2.5 * lines_of(".md", sources[0]) + 100


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
        (".md", "[a b](/c/) [d](</e f/>) [g](-1) [h](#i)", "[a b](/c/) [d](/e f/) [g](-1) h"),
        (".md", "[a](https://b.example/c_(d)) ![e](f) ``g`h`` [i][j] [k](/lˈ/)", "a e g`h [i][j] [k](/lˈ/)"),
        (".html", "<html><head><title>a</title><body>b", "b"),
        (".html", "<head><meta><p>a", "a"),
        (".html", "<head>a", "a"),
        (".html", "<ruby>a<rp>(</rp><rt>b</rt><rp>)</rp>c<rt>d</ruby>e", "ace"),
        (".html", "<ruby>a<rt>b<p>c", "a"),
        (".html", "<p>a<p hidden>b<p>c", "a\n\nc"),
        (".html", "<ul><li hidden>a<p>b</p>c<li>d<li hidden>e</ul>f", "d\n\nf"),
        (".md", "<nav><p>a</nav>\n\nb <ruby>c", "a\n\nb c"),
        (
            ".md",
            "<script>\nif (a < b) c\n</script>\n\n<h1 align=center>A &amp; B</h1>\n<p>c<br>d</p>",
            "A & B\n\nc\nd",
        ),
        (".html", "<div hidden><div>a</div>b</div>c<img hidden>d<i hidden/>e", "cde"),
        (
            ".html",
            "a <i style='display: none'>b</i>c<i aria-hidden=true>d</i><i STYLE=visibility:hidden>e</i>",
            "a c",
        ),
        (
            ".html",
            "<ol start=3><li>a<li value=9><p>b<ul><li>c</ul><li>d</ol><p>e",
            "3. a\n\n9. b\n\nc\n\n10. d\n\ne",
        ),
        (
            ".html",
            "m<sup>2</sup> a km<sup>2</sup> 10<sup>16</sup> 1<sup>st</sup> M<sup>me</sup> bc<sup>3</sup>",
            "m² a km² 10¹⁶ 1st Mme bc³",
        ),
        (
            ".html",
            'If <math alttext="a^2=b"><msup><mi>a</mi><mn>2</mn></msup><mo>=</mo><mi>b</mi></math>, stop.',
            "If $a^2=b$ , stop.",
        ),
        (
            ".html",
            "<math><mi>x</mi><mo>=</mo><mfrac><mrow><mo>−</mo><mi>b</mi></mrow><msqrt><mn>2</mn></msqrt></mfrac></math>",
            "$x = \\frac{- b}{\\sqrt{2}}$",
        ),
        (
            ".html",
            "a <math><semantics><mi>y</mi><annotation encoding='application/x-tex'>y^3</annotation></math>",
            "a $y^3$",
        ),
        (
            ".html",
            "<m:math><m:msubsup><m:mi>x</m:mi><m:mn>1</m:mn><m:mn>2</m:mn></m:msubsup><m:mi>sin</m:mi><m:mo>\u2061</m:mo>"
            "<m:mi>α</m:mi><m:mtext>if so</m:mtext><m:mover><m:mi>v</m:mi><m:mo>→</m:mo></m:mover></m:math>",
            r"${x}_{1}^{2} \sin α \text{if so} v$",
        ),
        (".md", "a <!-- b --> c <!-- d", "a c <!-- d"),
        (".md", "<!-- a\n\nb -->\n\nc\n\n<!-- d", "c\n\n<!-- d"),
        (
            ".md",
            "He was born in\n1984. It was cold, and\n2. was his.",
            "He was born in 1984. It was cold, and 2. was his.",
        ),
        (".md", "1984. a", "1984. a"),
        (".md", "3. a\n4. [x] b\n   c\n\n   d\n5. - e", "3. a\n\n4. b c\n\nd\n\n5. e"),
        (".md", "`a*b*c` x<y>z [x](http://x.y/(z))", "a*b*c x<y>z x"),
        (".md", "---\n\na\n\n---\nb", "a\n\nb"),
        (".md", "\\[pause:1s] [pause:2s]", "[pause:1s] [pause:2s]"),
        (".md", "| a | b |\n| :-: | --- |\n| c | d |", "a, b\n\nc, d"),
    ],
)
def test_reader_handles_markup(suffix: str, text: str, spoken: str) -> None:
    assert READERS[suffix](text.encode(), Path("a")).text == spoken


@pytest.mark.parametrize(
    ("suffix", "text", "spoken", "notes"),
    [
        (".md", "a[^1].\n\n[^1]: The note.\n[^b-2]: one", "a.\n\nThe note. one", ["3 marks of notes"]),
        (".md", "son<sup>3</sup> a", "son a", ["1 mark of notes"]),
        (".md", "---\ntitle: x\nlang: en\n---\na", "a", ["2 lines of front matter"]),
        (".md", '+++\ntitle = "x"\n[a]\n+++\na', "a", ["2 lines of front matter"]),
        (".md", "a\n\n    b\n\nc\n```\nd", "a\n\nc", ["2 blocks of code"]),
        (".md", "> " * 120 + "a", "", ["what lies in more than 50 lists and quotations"]),
        (
            ".html",
            "1066.<sup>12</sup> His son<sup>3</sup>[a]<sup><b>[b]</b></sup>",
            "1066. His son[a]",
            ["3 marks of notes"],
        ),
        (
            ".html",
            "a<a epub:type='noteref' href='#b'>1</a> b<a role=doc-noteref>*</a>",
            "a b",
            ["2 marks of notes"],
        ),
    ],
)
def test_reader_notes_omissions(suffix: str, text: str, spoken: str, notes: list[str]) -> None:
    document = read("a" + suffix, text)
    assert document.text == spoken
    assert document.notes == tuple(f"Left out: {note}." for note in notes)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (b"<meta charset=ISO-8859-1><p>caf\xe9 \x93a\x94", "café “a”"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">\xe0', "а"),
        (b"<?xml version='1.0' encoding='Shift_JIS'?><p>\x82\xa0", "あ"),
        (b"\xef\xbb\xbf<meta charset=ISO-8859-1>\xc3\xa9", "é"),
        (b"<meta charset=utf-16>\xc3\xa9", "é"),
    ],
)
def test_html_uses_the_declared_encoding(page: bytes, text: str) -> None:
    assert read("a.html", page).text == text


def test_html_refuses_unknown_encodings() -> None:
    with pytest.raises(InputError, match="declares the encoding zip, which is not read"):
        read("a.html", b"<meta charset=zip>a")
    with pytest.raises(InputError, match="not UTF-8 text"):
        read("a.html", b"caf\xe9")
