"""DOCX, converted by mammoth to HTML: paragraphs, lists, tables and notes; headings begin chapters."""

from __future__ import annotations

import io
import re
from pathlib import Path

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.documents.readers.bounded_zip import find_text, open_zip
from kokoro_tvm.runtime.documents.readers.document import Chapter, Document, import_parser, omission
from kokoro_tvm.runtime.documents.readers.html import parse_page

_STYLES = "p[style-name='Title'] => h1:fresh"
_PROPERTIES = "docProps/core.xml"
_BACK_LINK = re.compile(r'<a href="#(?:foot|end)note-ref-[^"]*">↑</a>')


def read(data: bytes, path: Path) -> Document:
    """Read a document of Word; pictures, headers, footers and marks of notes are left out.

    Raises:
        InputError: the file is no DOCX, is damaged, exceeds a limit, or mammoth or lxml is not installed.
    """
    mammoth = import_parser("mammoth", path)
    with open_zip(data, path) as archive:
        archive.read_xml("word/document.xml")
        author = ""
        for name in archive.names:  # mammoth's parser of XML has no limits
            if name.endswith((".xml", ".rels")):
                root = archive.read_xml(name)
                if name == _PROPERTIES:
                    author = find_text(root, "creator")
        try:
            source = mammoth.convert_to_html(
                io.BytesIO(data), style_map=_STYLES, convert_image=mammoth.images.img_element(lambda _: {})
            ).value
        except (LookupError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"{path} is a damaged DOCX ({error!r}). Save or convert it again.") from error
    page = parse_page(_BACK_LINK.sub("", source), path)
    title = next((chapter.title for chapter in page.chapters if chapter.title), path.stem)
    notes = tuple(filter(None, [omission(page.note_marks, "mark", "of notes")]))
    return Document(title, page.chapters or (Chapter("", ""),), notes=notes, author=author)
