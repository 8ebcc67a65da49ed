"""Members of a ZIP archive from a stranger, within bounds."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from kokoro_tvm.common.errors import InputError

_MAX_BYTES = 256 << 20  # unpacked, of all members that are read
_MAX_MEMBERS = 20_000
_MAX_RATIO = 1000  # deflate's own limit is 1032; text has 3 to 20
_SMALL_BYTES = 1 << 20  # any ratio is harmless below it
_CHUNK = 1 << 16  # bytes of XML
# zipfile raises these for damaged archives. RuntimeError: NotImplementedError and encrypted members.
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError)
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})  # EPUB 3.3, 4.2.2; ISO/IEC 29500-2


@contextmanager
def open_zip(data: bytes, path: Path) -> Iterator[BoundedZip]:
    """Open a file as an archive.

    Raises:
        InputError: it is no archive, is damaged, or exceeds a limit; also from within the block.
    """
    kind = path.suffix.removeprefix(".").upper()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if len(archive.infolist()) > _MAX_MEMBERS:
                raise InputError(f"{path} holds more than {_MAX_MEMBERS} files: this is no {kind}.")
            yield BoundedZip(archive, path, kind)
    except _DAMAGE as error:
        raise InputError(
            f"{path} is no {kind}, or damaged ({error}). Download or convert it again."
        ) from error


class BoundedZip:
    """An open archive.

    Attributes:
        names: of the members.
    """

    def __init__(self, archive: zipfile.ZipFile, path: Path, kind: str) -> None:
        self.names = frozenset(archive.namelist())
        self._archive, self._path, self._kind = archive, path, kind
        self._bytes_left = _MAX_BYTES

    def read(self, name: str) -> bytes:
        """Unpack a member; a wrong size in its header does not exceed the limits. Raises InputError."""
        if name not in self.names:
            raise InputError(f"{self._path} is no {self._kind}: it lacks {name or 'a package file'}.")
        info = self._archive.getinfo(name)
        if info.compress_type not in _METHODS:
            raise InputError(
                f"{self._path}: {name} is compressed otherwise than by deflate; no {self._kind} is."
            )
        limit = min(self._bytes_left, max(_SMALL_BYTES, info.compress_size * _MAX_RATIO))
        with self._archive.open(info) as stream:
            data = stream.read(limit + 1)
        if len(data) > limit:
            raise InputError(
                f"{self._path}: {name} unpacks to more than {limit >> 20} MB; this is no {self._kind}."
            )
        self._bytes_left -= len(data)
        return data

    def read_xml(self, name: str) -> ElementTree.Element:
        """Parse an XML member; raises InputError if it is malformed or declares entities or attributes."""
        place = f"{self._path}: {name}"

        def refuse_declarations(doctype: str, system: str | None, public: str | None, subset: int) -> None:
            # Entities and defaults of attributes make gigabytes of a small file.
            if subset:
                raise InputError(
                    f"{place} declares entities or attributes in its <!DOCTYPE>, which no {self._kind} needs."
                )

        builder = ElementTree.TreeBuilder()
        parser = expat.ParserCreate(namespace_separator="}")
        parser.StartDoctypeDeclHandler = refuse_declarations
        parser.StartElementHandler = builder.start
        parser.EndElementHandler = builder.end
        parser.CharacterDataHandler = builder.data
        data = self.read(name)
        try:
            # In chunks, because expat parses a chunk to its end after a handler has raised.
            for start in range(0, len(data), _CHUNK):
                parser.Parse(data[start : start + _CHUNK])
            parser.Parse(b"", True)
            return builder.close()
        except (expat.ExpatError, LookupError, ValueError) as error:  # LookupError: an unknown encoding
            raise InputError(f"{place} is not XML ({error}). Convert the file again.") from error


def find_text(root: ElementTree.Element, name: str) -> str:
    """Return the text of the first element of a local name; "" if there is none."""
    texts = (" ".join("".join(node.itertext()).split()) for node in root.iter() if local_name(node) == name)
    return next(texts, "")


def local_name(node: ElementTree.Element) -> str:
    """Return the name of an element without its namespace."""
    return str(node.tag).rpartition("}")[2]
