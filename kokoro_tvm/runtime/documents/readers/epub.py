"""EPUB 2 and 3: the documents of the spine in order, with their titles."""

from __future__ import annotations

import io
import posixpath
import struct
import zipfile
import zlib
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.parsers import expat

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.documents.readers.document import Chapter, Document, left_out
from kokoro_tvm.runtime.documents.readers.html import decoded_page, page_of

__all__ = ["read"]

_MOST_BYTES = 256 << 20  # of all that is read, unpacked
_PORTION = 1 << 16  # bytes of XML that are parsed at once
_MOST_FILES = 20_000
_MOST_RATIO = 1000  # deflate's own limit is 1032; text has 3 to 20
_SMALL = 1 << 20  # bytes; below it any ratio is harmless
_TEXT = frozenset(
    {"application/xhtml+xml", "text/html", "application/xml", "text/xml"}
    | {"text/x-oeb1-document", "application/x-dtbook+xml"}
)

# What zipfile raises for damaged archives. RuntimeError: NotImplementedError and encrypted files.
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError)
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})  # EPUB 3.3, section 4.2.2


def read(data: bytes, path: Path) -> Document:
    """The chapters of a book. Raises InputError for what is no EPUB, is encrypted, or unpacks to too much."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _Book(archive, path).read()
    except _DAMAGE as error:
        raise InputError(f"{path} is no EPUB, or damaged ({error}). Download or convert it again.") from error


class _Book:
    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self._archive, self._path = archive, path
        self._room = _MOST_BYTES
        if len(archive.infolist()) > _MOST_FILES:
            raise InputError(f"{path} holds more than {_MOST_FILES} files: this is no book.")

    def read(self) -> Document:
        names = set(self._archive.namelist())
        rights = "META-INF/encryption.xml"
        if "META-INF/rights.xml" in names or (
            rights in names and any(_name(node) == "EncryptedData" for node in self._xml(rights).iter())
        ):
            raise InputError(f"{self._path} is encrypted (DRM) and cannot be read.")
        container = self._xml("META-INF/container.xml")
        opf = next((node.get("full-path", "") for node in container.iter() if _name(node) == "rootfile"), "")
        package = self._xml(opf)
        items = {node.get("id"): node for node in package.iter() if _name(node) == "item"}
        title = next(
            (" ".join("".join(n.itertext()).split()) for n in package.iter() if _name(n) == "title"), ""
        )
        chapters: list[Chapter] = []
        notes = []
        marks = 0
        for reference in (node for node in package.iter() if _name(node) == "itemref"):
            item = items.get(reference.get("idref"))
            if item is None:
                notes.append(
                    f"Left out: {reference.get('idref')} is missing in the list of the book's files."
                )
                continue
            if "nav" in (item.get("properties") or "").split():
                continue  # the table of contents
            name = posixpath.normpath(posixpath.join(posixpath.dirname(opf), unquote(item.get("href") or "")))
            kind = item.get("media-type")
            if kind not in _TEXT:
                notes.append(f"Left out: {name} is no text but {kind}.")
            elif name not in names:
                notes.append(f"Left out: {name} is missing in the book.")
            elif reference.get("linear") == "no":
                notes.append(f"Left out: {name} stands outside of the order of reading.")
            else:
                page = page_of(decoded_page(self._bytes(name), Path(f"{self._path}: {name}")))
                chapters += [
                    Chapter(chapter.title or (page.title if not place else ""), chapter.text)
                    for place, chapter in enumerate(page.chapters)
                ]
                marks += page.marks
        notes += filter(None, [left_out(marks, "mark", "of notes")])
        return Document(title or self._path.stem, tuple(chapters) or (Chapter("", ""),), notes=tuple(notes))

    def _xml(self, name: str) -> ElementTree.Element:
        """The root of an XML file. Raises InputError where it is malformed or declares anything itself."""
        place = f"{self._path}: {name}"

        def refuse_declarations(doctype: str, system: str | None, public: str | None, subset: int) -> None:
            # Entities and defaults of attributes make gigabytes of a small file.
            if subset:
                raise InputError(
                    f"{place} declares entities or attributes in its <!DOCTYPE>, which a book does not need."
                )

        builder = ElementTree.TreeBuilder()
        parser = expat.ParserCreate(namespace_separator="}")
        parser.StartDoctypeDeclHandler = refuse_declarations
        parser.StartElementHandler = builder.start
        parser.EndElementHandler = builder.end
        parser.CharacterDataHandler = builder.data
        data = self._bytes(name)
        try:
            # In portions, because expat parses a portion to its end after a handler has raised.
            for start in range(0, len(data), _PORTION):
                parser.Parse(data[start : start + _PORTION])
            parser.Parse(b"", True)
            return builder.close()
        except (expat.ExpatError, LookupError, ValueError) as error:  # LookupError: an unknown encoding
            raise InputError(f"{place} is not XML ({error}). Convert the book again.") from error

    def _bytes(self, name: str) -> bytes:
        """A file of the archive; no more is unpacked than a book can have, whatever its header says."""
        try:
            info = self._archive.getinfo(name)
        except KeyError:
            raise InputError(f"{self._path} is no EPUB: it lacks {name or 'a package file'}.") from None
        if info.compress_type not in _METHODS:
            raise InputError(f"{self._path}: {name} is compressed otherwise than by deflate; no EPUB is.")
        limit = min(self._room, max(_SMALL, info.compress_size * _MOST_RATIO))
        with self._archive.open(info) as stream:
            data = stream.read(limit + 1)
        if len(data) > limit:
            raise InputError(f"{self._path}: {name} unpacks to more than {limit >> 20} MB; this is no book.")
        self._room -= len(data)
        return data


def _name(node: ElementTree.Element) -> str:
    return str(node.tag).rpartition("}")[2]
