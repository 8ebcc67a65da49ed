"""EPUB 2 and 3: the pages of the spine in order, with their titles."""

from __future__ import annotations

import posixpath
from pathlib import Path
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.documents.readers.bounded_zip import BoundedZip, find_text, local_name, open_zip
from kokoro_tvm.runtime.documents.readers.document import Chapter, Document, omission
from kokoro_tvm.runtime.documents.readers.html import decode_page, parse_page

_PAGE_TYPES = frozenset(
    {"application/xhtml+xml", "text/html", "application/xml", "text/xml"}
    | {"text/x-oeb1-document", "application/x-dtbook+xml"}
)
_IMAGE_TYPES = frozenset({"image/jpeg", "image/png"})


def read(data: bytes, path: Path) -> Document:
    """Read a book.

    Raises:
        InputError: the file is no EPUB, is damaged or encrypted, exceeds a limit, or lxml is not installed.
    """
    with open_zip(data, path) as archive:
        _refuse_encrypted(archive, path)
        container = archive.read_xml("META-INF/container.xml")
        opf = next(
            (node.get("full-path", "") for node in container.iter() if local_name(node) == "rootfile"), ""
        )
        package = archive.read_xml(opf)
        items = {node.get("id"): node for node in package.iter() if local_name(node) == "item"}
        chapters: list[Chapter] = []
        notes = []
        note_marks = 0
        for reference in (node for node in package.iter() if local_name(node) == "itemref"):
            item = items.get(reference.get("idref"))
            if item is None:
                notes.append(
                    f"Left out: {reference.get('idref')} is missing in the list of the book's files."
                )
                continue
            if "nav" in (item.get("properties") or "").split():
                continue  # the table of contents
            name = posixpath.normpath(posixpath.join(posixpath.dirname(opf), unquote(item.get("href") or "")))
            media_type = item.get("media-type")
            if media_type not in _PAGE_TYPES:
                notes.append(f"Left out: {name} is no text but {media_type}.")
            elif name not in archive.names:
                notes.append(f"Left out: {name} is missing in the book.")
            elif reference.get("linear") == "no":
                notes.append(f"Left out: {name} is outside of the reading order.")
            else:
                page = parse_page(decode_page(archive.read(name), Path(f"{path}: {name}")), path)
                chapters += [
                    Chapter(chapter.title or ("" if index else page.title), chapter.text)
                    for index, chapter in enumerate(page.chapters)
                ]
                note_marks += page.note_marks
        notes += filter(None, [omission(note_marks, "mark", "of notes")])
        title, author = find_text(package, "title") or path.stem, find_text(package, "creator")
        content = tuple(chapters) or (Chapter("", ""),)
        cover = _read_cover(package, opf, archive)
        return Document(title, content, notes=tuple(notes), author=author, cover=cover)


def _read_cover(package: Element, opf: str, archive: BoundedZip) -> bytes:
    """Return the image of the cover as EPUB 3 or EPUB 2 names it; empty if it is no JPEG or PNG."""
    ids = {
        node.get("content")
        for node in package.iter()
        if local_name(node) == "meta" and node.get("name") == "cover"
    }
    for item in (node for node in package.iter() if local_name(node) == "item"):
        is_cover = "cover-image" in (item.get("properties") or "").split() or item.get("id") in ids
        name = posixpath.normpath(posixpath.join(posixpath.dirname(opf), unquote(item.get("href") or "")))
        if is_cover and item.get("media-type") in _IMAGE_TYPES and name in archive.names:
            return archive.read(name)
    return b""


def _refuse_encrypted(archive: BoundedZip, path: Path) -> None:
    encryption = "META-INF/encryption.xml"
    if "META-INF/rights.xml" in archive.names or (
        encryption in archive.names
        and any(local_name(node) == "EncryptedData" for node in archive.read_xml(encryption).iter())
    ):
        raise InputError(f"{path} is encrypted (DRM) and cannot be read.")
