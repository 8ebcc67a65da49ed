"""PDF and DOCX: text, limits, and the extra that they need."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pypdf
import pytest
from office_files import write_docx, write_pdf

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.documents.readers import READERS, Document, read_document
from kokoro_tvm.runtime.documents.readers.document import Chapter
from kokoro_tvm.runtime.documents.readers.isolation import read_isolated


def read(name: str, data: bytes) -> Document:
    path = Path(name)
    return READERS[path.suffix](data, path)


def test_pdf_joins_lines_to_paragraphs() -> None:
    lines = [
        "#A title",
        "The first line of a para-",
        "graph, which ends (here).",
        "",
        "",
        "Another one",
        "of two lines.",
        "\tAn indented one.",
    ]
    document = read("a.pdf", write_pdf([lines]))
    assert document.chapters == (
        Chapter(
            "",
            "A title\n\nThe first line of a paragraph, which ends (here).\n\nAnother one of two lines.\n\n"
            "An indented one.",
        ),
    )
    assert document.title == "a"


def test_pdf_joins_a_paragraph_across_pages_without_page_numbers() -> None:
    pages = [
        ["My book", "It begins here", "1"],
        ["My book", "and ends there.", "A line.", "2"],
        ["My book", "The end.", "3"],
    ]
    document = read("a.pdf", write_pdf(pages))
    assert document.text == "It begins here and ends there. A line.\n\nThe end."
    assert document.notes == ("Left out: 6 lines at the top or the bottom of pages.",)


def test_pdf_begins_chapters_at_bookmarks() -> None:
    document = read("a.pdf", write_pdf([["Front."], ["One."], ["Two."]], [("First", 1), ("Second", 2)]))
    assert document.chapters == (Chapter("", "Front."), Chapter("First", "One."), Chapter("Second", "Two."))


def test_pdf_and_docx_name_their_author() -> None:
    written = io.BytesIO()
    pdf = pypdf.PdfWriter(io.BytesIO(write_pdf([["Text."]])))
    pdf.add_metadata({"/Author": "An Author "})
    pdf.write(written)
    core = (
        '<p:coreProperties xmlns:p="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:creator>Another</dc:creator></p:coreProperties>'
    )
    docx = write_docx(["A heading", "Text."], members={"docProps/core.xml": core})
    assert [read("a.pdf", written.getvalue()).author, read("a.docx", docx).author] == ["An Author", "Another"]


def test_docx_begins_chapters_at_headings() -> None:
    table = "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p/></w:tc></w:tr></w:tbl>"
    document = read("a.docx", write_docx(["One", "Text & more.", table], ["Two", "End."]))
    assert document.title == "One"
    assert document.chapters == (Chapter("One", "One\n\nText & more.\n\na"), Chapter("Two", "Two\n\nEnd."))


ENTITIES = '<!DOCTYPE a [<!ENTITY b "bbb"><!ENTITY c "&b;&b;">]><a>&c;</a>'


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.pdf", b"", "no PDF, or damaged"),
        ("a.pdf", b"%PDF-1.4 nonsense", "no PDF, or damaged"),
        ("a.pdf", write_pdf([[]]), "only pictures"),
        ("a.pdf", write_pdf([[]] * 5001), "5001 pages"),
        ("a.docx", b"", "no DOCX, or damaged"),
        ("a.docx", write_docx(["A"])[:-200], "no DOCX, or damaged"),
        ("a.docx", write_docx(["A"], members={"word/document.xml": "<a"}), "is not XML"),
        ("a.docx", write_docx(["A"], members={"word/other.xml": ENTITIES}), "declares entities"),
        ("a.docx", write_docx(["A"], members={"word/other.xml": " " * (9 << 20)}), "unpacks to more than"),
        ("a.docx", write_docx(["A"], members={"word/document.xml": "<a/>"}), "no DOCX, or damaged"),
    ],
)
def test_reader_refuses_a_file(name: str, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(name, data)


def test_isolated_reader_has_a_time_limit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"takes longer than 0\.01 s"):
        read_isolated("kokoro_tvm.runtime.documents.readers.pdf", b"", tmp_path / "a.pdf", timeout_s=0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory")
def test_isolated_reader_has_a_memory_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "greedy.py").write_text("def read(data, path):\n    return bytes(1 << 40)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InputError, match="MemoryError"):
        read_isolated("greedy", b"", tmp_path / "a.pdf")


def test_isolated_reader_imports_no_module_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pypdf.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "a.pdf").write_bytes(write_pdf([["Text."]]))
    monkeypatch.chdir(tmp_path)
    assert read_document("a.pdf").text == "Text."


@pytest.mark.parametrize(
    ("suffix", "data", "module", "package"),
    [
        (".html", b"a", "lxml.etree", "lxml"),
        (".pdf", b"", "pypdf", "pypdf"),
        (".docx", b"", "mammoth", "mammoth"),
    ],
)
def test_format_names_its_extra(
    suffix: str, data: bytes, module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kokoro_tvm.runtime.documents.readers.document import import_parser

    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=rf"{suffix} files need {package}.*kokoro-tvm\[documents\]"):
        import_parser(module, Path("a" + suffix))
