"""Streaming XML parser with places, by the standard library's expat.

A document type is refused, and with it every custom entity.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol
from xml.parsers import expat

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.markup.values import locate_errors

_MAX_PENDING = 1 << 16  # bytes of an incomplete tag


class XmlHandler(Protocol):
    """Callbacks for the parts of a document; `place` is an index of the text."""

    @property
    def innermost(self) -> str:
        """The innermost open element with its place; "" if there is none."""

    def start(self, name: str, attributes: Mapping[str, str], line: int, column: int) -> None:
        """Handle the start of an element."""

    def end(self, name: str, place: int) -> None:
        """Handle the end of an element."""

    def text(self, source: SourceText) -> None:
        """Handle characters."""


class XmlStreamParser:
    """Parser of a document that arrives in portions.

    Raises:
        InputError: With line and column: the document is invalid.
    """

    def __init__(self, handler: XmlHandler) -> None:
        self._handler = handler
        # Bytes that expat holds: they begin at byte `base`, `seen` of them are handled, and `place` is the
        # next character of the text.
        self._bytes, self._base, self._seen, self._place = b"", 0, 0, 0
        self._cdata = self._begun = False
        self._skipped = 1, 0  # lines, and columns of the last one, before the first non-space
        self._expat: Any = expat.ParserCreate("utf-8")
        if hasattr(self._expat, "SetReparseDeferralEnabled"):  # report a tag at once
            self._expat.SetReparseDeferralEnabled(False)
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = lambda name: handler.end(name, self._advance())
        self._expat.CharacterDataHandler = self._characters
        self._expat.StartCdataSectionHandler = lambda: self._in_cdata(True)
        self._expat.EndCdataSectionHandler = lambda: self._in_cdata(False)
        self._expat.StartDoctypeDeclHandler = self._doctype

    @property
    def position(self) -> tuple[int, int]:
        """Line and column of the current event, from 1."""
        return self._from_one(self._expat.CurrentLineNumber, self._expat.CurrentColumnNumber)

    def feed(self, portion: str, final: bool) -> None:
        """Parse a portion and call the handler for what it completes."""
        if not self._begun:
            portion = self._begin(portion)
        try:
            data = portion.encode()
        except UnicodeEncodeError as error:
            raise InputError("The SSML is not valid UTF-8. Convert it to UTF-8 first.") from error
        self._base += self._seen
        self._bytes = self._bytes[self._seen :] + data
        self._seen = 0
        try:
            self._expat.Parse(data, final)
        except expat.ExpatError as error:
            raise self._malformed(error) from error
        if self._expat.CurrentByteIndex >= self._base:
            self._advance()
        if len(self._bytes) - self._seen > _MAX_PENDING:
            with self._here():
                raise InputError(f"what begins here has more than {_MAX_PENDING} bytes. Close the tag.")

    def _begin(self, portion: str) -> str:
        """Return a portion without leading space, which an XML declaration must not have."""
        rest = portion.lstrip("\ufeff \t\r\n")
        space = portion[: len(portion) - len(rest)]
        lines, column = self._skipped
        if "\n" in space:
            lines, column = lines + space.count("\n"), 0
        self._skipped = lines, column + len(space) - space.rfind("\n") - 1
        self._place += len(space)
        self._begun = bool(rest)
        return rest

    def _advance(self) -> int:
        """Move to the current event; return its place in the text."""
        index = self._expat.CurrentByteIndex - self._base
        self._place += len(self._bytes[self._seen : index].decode())
        self._seen = index
        return self._place

    def _from_one(self, line: int, column: int) -> tuple[int, int]:
        lines, columns = self._skipped
        return line + lines - 1, column + 1 + (columns if line == 1 else 0)

    def _here(self) -> AbstractContextManager[None]:
        return locate_errors(*self.position)

    def _malformed(self, error: expat.ExpatError) -> InputError:
        line, column = self._from_one(error.lineno, error.offset)
        reason = expat.ErrorString(error.code)
        hint = ""
        if reason in ("no element found", "mismatched tag") and self._handler.innermost:
            hint = f" Close {self._handler.innermost} first."
        elif "token" in reason or "entity" in reason:
            hint = " Write & as &amp; and < as &lt;."
        reason = reason.replace("no element found", "it ends too early")
        return InputError(f"The SSML is not well-formed in line {line}, column {column}: {reason}.{hint}")

    def _doctype(self, *_: object) -> None:
        raise InputError("SSML with a document type is not read. Remove <!DOCTYPE ...> and its entities.")

    def _in_cdata(self, inside: bool) -> None:
        self._cdata = inside

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._advance()
        line, column = self.position
        with locate_errors(line, column):
            self._handler.start(name, attributes, line, column)

    def _characters(self, text: str) -> None:
        start = self._advance()
        source = SourceText.of(text, start)
        if not self._cdata and self._bytes[self._seen : self._seen + 1] == b"&":
            end = self._bytes.index(b";", self._seen) + 1
            length = len(self._bytes[self._seen : end].decode())
            source = SourceText(text, (start,) * len(text), (start + length,) * len(text))
        elif text == "\n" and self._bytes[self._seen : self._seen + 2] == b"\r\n":
            source = SourceText(text, (start,), (start + 2,))
        self._handler.text(source)
