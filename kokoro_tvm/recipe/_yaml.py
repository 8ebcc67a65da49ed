"""Strict YAML: one document of mappings, sequences and scalars, every key and value with its position.

Built from PyYAML's events, not from its nodes (`yaml.compose`) or ruamel.yaml's: nodes do not show anchors,
and are there only when all is read. 100,000 brackets crash `compose` (SIGSEGV) and 5,000 take ruamel.yaml
12 s; the shipped model recipe takes 0.7 ms here and 15 ms there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.common.words import shorten
from kokoro_tvm.recipe._scalar import Scalar, ScalarError, plain
from kokoro_tvm.recipe._source import LocatedRecipeError, RecipeText, Span
from kokoro_tvm.recipe._syntax import not_yaml

__all__ = ["MAX_BYTES", "YamlEntry", "YamlNode", "parse", "read"]

MAX_BYTES = 256 * 1024
_MAX_DEPTH = 16
_MAX_NODES = 2_000

# Line ends other than \n would make our line numbers and the reader's differ; the others hide what is read.
_FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")

# The C reader is the faster of two readers of the same language; source builds of PyYAML may lack it.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True)
class YamlNode:
    """A value and its place: `items` for a sequence, `entries` for a mapping, otherwise `scalar`.

    over: the inherited value that it stands in place of."""

    span: Span
    scalar: Scalar = None
    items: list[YamlNode] | None = None
    entries: dict[str, YamlEntry] | None = None
    over: YamlNode | None = None

    def get(self, *path: str) -> YamlNode | None:
        """The value under a key, or under several, one in the other; None where there is none."""
        node = self
        for key in path:
            entry = (node.entries or {}).get(key)
            if entry is None:
                return None
            node = entry.value
        return node

    def data(self) -> Any:
        """Plain values: dict, tuple, str, int, float, bool, None."""
        if self.entries is not None:
            return {key: entry.value.data() for key, entry in self.entries.items()}
        if self.items is not None:
            return tuple(item.data() for item in self.items)
        return self.scalar


@dataclass(slots=True)
class YamlEntry:
    """A key's place and the value under it."""

    key: Span
    value: YamlNode


def read(path: Path) -> RecipeText:
    """The text of a recipe file. Raises RecipeError for one that is missing, too large or not UTF-8."""
    shown = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in str(path))
    try:
        if path.exists() and not path.is_file():
            raise RecipeError(f"{shown}: not a regular file; a recipe is one YAML file.")
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise RecipeError(f"{shown}: there is no such file.") from error
    except (OSError, ValueError) as error:
        raise RecipeError(f"{shown}: cannot be read: {error}.") from error
    if len(raw) > MAX_BYTES:
        text = raw.decode("utf-8-sig", "replace")
        message = "here the file grows larger than 256 KiB, which no recipe is; is it the right file?"
        raise _span_at(RecipeText(shown, text), len(text) - 1).error(message)
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        source = RecipeText(shown, raw.decode("utf-16", "replace").replace("\r\n", "\n"))
        raise Span(source, 1, 1).error("the file is UTF-16; save it as UTF-8")
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace").removeprefix("\ufeff")
        source = RecipeText(shown, raw.decode("utf-8-sig", "replace"))
        message = "not UTF-8 text; is it a recipe? If so, save the file as UTF-8"
        raise _span_at(source, len(before)).error(message) from error
    return RecipeText(shown, text)


@lru_cache(maxsize=64)  # recipes extend the same few; a node is never changed
def parse(source: RecipeText, most: int = _MAX_NODES) -> YamlNode:
    """The document as at most so many nodes. Raises RecipeError, with the place, for anything but plain
    YAML."""
    if bad := _FORBIDDEN.search(source.text):
        utf16 = ", or save the file as UTF-8 if it is UTF-16" if bad[0] == "\0" else ""
        raise _span_at(source, bad.start()).error(f"the file holds {_forbidden(bad[0])}{utf16}")
    reader = _Composer(source, most)
    try:
        return reader.document()
    except yaml.MarkedYAMLError as error:
        raise not_yaml(source, error, reader.open_brackets()) from error
    except yaml.YAMLError as error:
        raise Span(source, 1, 1).error(f"not valid YAML: {error}") from error


def _forbidden(char: str) -> str:
    if char == "\t":
        return "a tab: use spaces"
    if char == "\r":
        return "a carriage return without a line feed: save the file with Unix line ends"
    return f"the invisible character U+{ord(char):04X}: remove it"


class _Composer:
    """Builds nodes from the parser's events, so that a refusal comes at the first event that earns it."""

    def __init__(self, source: RecipeText, most: int) -> None:
        self._source = source
        self._most = most
        self._events: Iterator[Any] = yaml.parse(source.text, Loader=_Loader)
        self._nodes = 0
        self._open: list[Any] = []  # the events that opened the collections around the current one

    def open_brackets(self) -> list[Span]:
        """Where the brackets and braces stand that are open when reading ends, the outermost first."""
        return [self._span(event) for event in self._open if event.flow_style]

    def document(self) -> YamlNode:
        next(self._events)  # the stream's start
        start = next(self._events)
        if isinstance(start, yaml.StreamEndEvent):
            message = (
                "the file holds no recipe, only comments or nothing; one begins like `model: kokoro-82m`"
            )
            raise Span(self._source, 1, 1).error(message)
        if start.version or start.tags:
            raise self._error(
                start, "YAML directives (%YAML, %TAG) are not allowed in a recipe: remove the line"
            )
        node = self._node(next(self._events), depth=1)
        next(self._events)  # the document's end
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise self._error(
                after, "a second document starts here; a file holds one recipe, with no `---` in it"
            )
        if node.entries is None:
            raise node.span.error("a recipe is a mapping, lines of `key: value`")
        return node

    def _node(self, event: Any, depth: int) -> YamlNode:
        self._refuse_extras(event)
        self._nodes += 1
        if depth > _MAX_DEPTH:
            raise self._error(event, f"nested more than {_MAX_DEPTH} deep, which no recipe is")
        if self._nodes > self._most:
            raise self._error(event, f"more than {self._most:,} values, which no recipe has")
        node = YamlNode(self._span(event))
        if isinstance(event, yaml.ScalarEvent):
            node.scalar = self._scalar(event)
            return node
        self._open.append(event)
        if isinstance(event, yaml.MappingStartEvent):
            node.entries = self._entries(depth)
        else:
            node.items = self._items(depth)
        self._open.pop()
        return node

    def _items(self, depth: int) -> list[YamlNode]:
        items: list[YamlNode] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event, depth + 1))
            self._refuse_empty(event, event, "an item of this list")
        return items

    def _entries(self, depth: int) -> dict[str, YamlEntry]:
        entries: dict[str, YamlEntry] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            self._refuse_extras(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise self._error(event, "a key must be a single word; a list or mapping stands here")
            key: str = event.value
            if _FORBIDDEN.search(key):
                raise self._error(event, "this key holds a control character: remove it")
            if key == "<<" and _is_plain(event):
                raise self._error(event, "merge keys (<<) are not allowed in a recipe: write the keys out")
            if key in entries:
                first = entries[key].key
                raise self._error(
                    event,
                    f"the key `{shorten(key)}` stands here a second time; line {first.line} has it already",
                )
            value = next(self._events)
            entries[key] = YamlEntry(self._span(event), self._node(value, depth + 1))
            if _is_empty(value):
                raise self._error(event, self._without_value(key, event))
        return entries

    def _without_value(self, key: str, event: Any) -> str:
        """Say what to do about a key without a value: its own keys may stand right below it, not indented."""
        below: Any = next(self._events)  # nothing is read after the error
        here, there = event.start_mark, below.start_mark
        is_below = type(below) is yaml.ScalarEvent and (there.line, there.column) == (
            here.line + 1,
            here.column,
        )
        indent = f"; indent `{shorten(below.value)}` below it, if it is a part of it" if is_below else ""
        return f"`{shorten(key)}` has no value: write one, or remove it{indent}"

    def _scalar(self, event: Any) -> Scalar:
        text: str = event.value
        if bad := _FORBIDDEN.search(text):
            raise self._error(event, f"the text holds {_forbidden(bad[0])}")
        if not _is_plain(event) or text == "":
            return text
        try:
            return plain(text)
        except ScalarError as error:
            raise self._error(event, str(error)) from error

    def _refuse_extras(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise self._error(
                event,
                f"aliases (*{shorten(str(event.anchor))}) are not allowed in a recipe: write the value out",
            )
        if event.anchor is not None:
            raise self._error(
                event, f"anchors (&{shorten(event.anchor)}) are not allowed in a recipe: remove it"
            )
        if event.tag is not None:
            shown = event.tag.replace("tag:yaml.org,2002:", "!!")
            raise self._error(event, f"tags ({shorten(shown)}) are not allowed in a recipe: remove it")

    def _refuse_empty(self, value: Any, place: Any, what: str) -> None:
        if _is_empty(value):
            raise self._error(place, f"{what} has no value: write one, or remove it")

    def _error(self, event: Any, message: str) -> LocatedRecipeError:
        return self._span(event).error(message)

    def _span(self, event: Any) -> Span:
        start, end = event.start_mark, event.end_mark
        single = start.line == end.line and isinstance(event, yaml.ScalarEvent)
        width = max(1, end.column - start.column) if single else 1
        return Span(self._source, start.line + 1, start.column + 1, width)


def _is_empty(event: Any) -> bool:
    return isinstance(event, yaml.ScalarEvent) and event.value == "" and _is_plain(event)


def _is_plain(event: Any) -> bool:
    return not event.style  # None from the Python reader, "" from the C one


def _span_at(source: RecipeText, index: int) -> Span:
    """The place of the character at `index`."""
    text = source.text
    return Span(source, text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index))
