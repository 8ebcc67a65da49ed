"""Small PDF and DOCX files for tests."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from xml.sax.saxutils import escape

_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_STYLES = "".join(
    f'<w:style w:type="paragraph" w:styleId="h{level}"><w:name w:val="heading {level}"/></w:style>'
    for level in (1, 2, 3)
)


def write_docx(*sections: Sequence[str], members: dict[str, str] | None = None) -> bytes:
    """Return a DOCX; each section is a heading of level 1 and its paragraphs.

    A paragraph that begins with `<` is inserted as it is. `members` replaces or adds files of the archive.
    """
    body = "".join(
        text
        if text.startswith("<")
        else _paragraph(text, "" if index else '<w:pPr><w:pStyle w:val="h1"/></w:pPr>')
        for section in sections
        for index, text in enumerate(section)
    )
    files = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="a" '
        f'Type="{_OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/styles.xml": f"<w:styles {_WORD}>{_STYLES}</w:styles>",
        "word/document.xml": f"<w:document {_WORD}><w:body>{body}</w:body></w:document>",
    }
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (files | (members or {})).items():
            archive.writestr(name, content)
    return data.getvalue()


def _paragraph(text: str, properties: str) -> str:
    return f"<w:p>{properties}<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"


def write_pdf(pages: Sequence[Sequence[str]], bookmarks: Sequence[tuple[str, int]] = ()) -> bytes:
    """Return a PDF.

    Args:
        pages: lines, 14 points below each other. "" is half a line's space; a line that begins with `#` is
            larger, one that begins with a tab is indented.
        bookmarks: title and page of each.
    """
    objects = [
        "<</Type/Catalog/Pages 2 0 R/Outlines 4 0 R>>",
        "",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        "",
    ]
    kids = []
    for lines in pages:
        stream, y = "BT ", 750.0
        for line in lines:
            y -= 14 if line else 7
            size, x = (18 if line.startswith("#") else 11), (90 if line.startswith("\t") else 72)
            text = line.strip("#\t").replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
            stream += f"/F {size} Tf 1 0 0 1 {x} {y:g} Tm ({text}) Tj " if line else ""
        objects.append(f"<</Length {len(stream) + 2}>>stream\n{stream}ET\nendstream")
        kids.append(len(objects) + 1)
        objects.append(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F 3 0 R>>>>"
            f"/Contents {len(objects)} 0 R>>"
        )
    objects[1] = f"<</Type/Pages/Count {len(kids)}/Kids[{' '.join(f'{kid} 0 R' for kid in kids)}]>>"
    first = len(objects) + 1
    for index, (title, page) in enumerate(bookmarks):
        following = f"/Next {first + index + 1} 0 R" if index + 1 < len(bookmarks) else ""
        objects.append(f"<</Title({title})/Parent 4 0 R/Dest[{kids[page]} 0 R/Fit]{following}>>")
    objects[3] = f"<</First {first} 0 R/Last {len(objects)} 0 R>>" if bookmarks else "<<>>"
    data, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    trailer = f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(data)}\n%%EOF\n"
    return data + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode()
