"""YAML with positions: every value and key knows its line and column, and every error shows them.

The tree is built from PyYAML's events: `yaml.compose` recurses in C, so that 100,000 brackets crash it.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kokoro_tvm.common.errors import KokoroTvmError, RecipeError, sentence
from kokoro_tvm.common.words import shorten

MAX_BYTES = 8 << 20

_WIDTH = 100  # columns of a quoted line; a longer one is cut around the caret
_LINE_END = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # as YAML 1.1 ends lines
_RESOLVER = yaml.resolver.Resolver()
_STANDARD = "tag:yaml.org,2002:"
# The messages of `_PROBLEMS` are those of the C parser, which source builds of PyYAML may lack.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Scalar = bool | int | float | str | None

_NUMBER = "is a number to some YAML readers and text to others", "write a plain decimal such as 512 or 0.5"
# What YAML 1.1 reads an unquoted word as -> what is wrong with it, what to write.
_TRAPS = {
    "bool": ("is a boolean to some YAML readers and text to others", "write true or false"),
    "null": ("is one of several spellings of nothing", "write null"),
    "timestamp": ("is a date to some YAML readers", "put it in quotes"),
    "int": _NUMBER,
    "float": _NUMBER,
}
_ESCAPE = "a backslash in double quotes begins an escape: write two, or put the text in single quotes"
# How a message of the parser begins -> what to say instead. Others are passed on.
_PROBLEMS = {
    "did not find expected ',' or ']'": "a comma or `]` is missing before this: items stand as [a, b]",
    "did not find expected ',' or '}'": "a comma or `}` is missing before this: keys stand as {a: 1, b: 2}",
    "did not find expected node content": "a value is missing before this",
    "could not find expected ':'": "this line is no `key: value`; is the colon missing, or the space after?",
    "mapping values are not allowed in this context": (
        "a second `: ` where a value is being read: put text that holds one in quotes, "
        "and begin every key of a mapping in the same column"
    ),
    "did not find expected key": "a key should stand here: begin every key of a mapping in the same column",
    "did not find expected '-' indicator": (
        "an item of the list above should stand here: begin every `- ` in the same column"
    ),
    "block sequence entries are not allowed in this context": (
        "a list cannot begin here: write `- ` on a line of its own below the key, or [a, b] beside it"
    ),
    "found character that cannot start any token": "no value begins with this character: put text in quotes",
    "found unknown escape character": _ESCAPE,
    "did not find expected hexdecimal number": _ESCAPE,
    "found unexpected ':'": "a space is missing after the colon: write `key: value`",
    "found unexpected end of stream": "the quote that opens here is never closed",
}
# The parser reports these at the next line or at the end; the place to mend is where it began.
_REPORTED_LATE = ("found unexpected end of stream", "could not find expected ':'")


@dataclass(frozen=True, slots=True)
class YamlText:
    """A file's text.

    Attributes:
        path: Path as the user typed it.
        error: Class of the errors about the file.
    """

    path: str
    text: str
    error: type[KokoroTvmError] = RecipeError


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text: line and column from 1, width in characters."""

    source: YamlText
    line: int
    column: int
    width: int = 1

    def __str__(self) -> str:
        return f"{self.source.path}:{self.line}"

    def error(self, message: str) -> KokoroTvmError:
        """Return an error that shows `message` and the place."""
        return self.source.error(self.message(message))

    def message(self, message: str) -> str:
        """Return path:line:column and `message`, then the line with carets under the place."""
        line = [*_LINE_END.split(self.source.text), ""][self.line - 1]
        start = min(self.column - 1, len(line))
        begin = max(0, min(start - _WIDTH // 2, len(line) - _WIDTH))
        end = begin + _WIDTH
        # A terminal may obey characters that cannot be printed.
        shown = "".join(char if char.isprintable() else "·" for char in line[begin:end])
        before, after = "…" if begin else "", "…" if end < len(line) else ""
        lead = len(before) + _count_columns(shown[: start - begin])
        carets = "^" * max(1, _count_columns(shown[start - begin : start - begin + self.width]))
        number = f"{self.line:>4}"
        first = f"{self}:{self.column}: {sentence(message)}"
        return f"{first}\n{number} | {before}{shown}{after}\n{' ' * len(number)} | {' ' * lead}{carets}"


@dataclass(slots=True)
class YamlNode:
    """A value with its place.

    Attributes:
        value: A scalar, a list of nodes, or a dict of nodes by key.
        key: Place of the key of the value; of the value itself in a list.
        base: Inherited value that this one replaces.
    """

    span: Span
    value: Scalar | list[YamlNode] | dict[str, YamlNode]
    key: Span
    base: YamlNode | None = None

    @property
    def entries(self) -> dict[str, YamlNode]:
        """Values by key; empty unless the node is a mapping."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> list[YamlNode]:
        """Values of the list; empty unless the node is one."""
        return self.value if isinstance(self.value, list) else []

    def get(self, *path: str) -> YamlNode | None:
        """Return the value under a key, or under keys inside each other, or None."""
        node: YamlNode | None = self
        for key in path:
            node = node and node.entries.get(key)
        return node

    def data(self) -> Any:
        """Return plain values: dict, tuple, str, int, float, bool, None."""
        if isinstance(self.value, dict):
            return {key: node.data() for key, node in self.value.items()}
        return tuple(node.data() for node in self.value) if isinstance(self.value, list) else self.value


def read_text(path: Path, error: type[KokoroTvmError] = RecipeError) -> YamlText:
    """Read a UTF-8 file of at most MAX_BYTES. Raises `error`."""
    shown = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in str(path))
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError as fault:
        raise error(f"{shown}: there is no such file") from fault
    except (OSError, ValueError) as fault:
        raise error(f"{shown}: cannot be read: {fault}") from fault
    if len(raw) > MAX_BYTES:
        raise error(f"{shown}: larger than {MAX_BYTES >> 20} MiB; is it the right file?")
    try:
        return YamlText(shown, raw.decode("utf-8-sig"), error)
    except UnicodeDecodeError as fault:
        before = raw[: fault.start].decode("utf-8-sig", "replace")
        text = before + raw[fault.start :].decode("utf-8", "replace")
        message = "not UTF-8 text; save the file as UTF-8"
        raise _locate(YamlText(shown, text, error), len(before)).error(message) from fault


def parse_yaml(source: YamlText, strings: bool = False, max_depth: int = sys.maxsize) -> YamlNode:
    """Parse one document that is a mapping; an empty file is an empty one.

    Args:
        source: The text.
        strings: Return every scalar as text, `no` and `1984` too.
        max_depth: Largest depth of mappings and lists; 1 is a mapping of scalars.

    Raises:
        KokoroTvmError: The text is not YAML, or has anchors, aliases, tags, a key twice or without a value,
            or an unquoted word that YAML readers disagree about. Its class is `source.error`.
    """
    parser = _Parser(source, strings, max_depth)
    try:
        return parser.document()
    except yaml.reader.ReaderError as fault:
        place = _locate(source, max(0, source.text.find(chr(fault.character))))
        raise place.error(f"YAML forbids the character U+{fault.character:04X}: remove it") from fault
    except yaml.MarkedYAMLError as fault:
        raise parser.syntax_error(fault) from fault
    except RecursionError as fault:
        raise _locate(source, 0).error("lists or mappings are nested too deep") from fault


def parse_scalar(word: str) -> Scalar:
    """Return what an unquoted word means: JSON's values, or text.

    Raises:
        ValueError: YAML 1.1 reads something else, as of `no`, `0128`, `12:30` and `.inf`.
    """
    try:
        value: Scalar = json.loads(word, parse_constant=str)
    except ValueError:
        tag = _RESOLVER.resolve(yaml.ScalarNode, word, (True, False)).removeprefix(_STANDARD)
        if tag not in _TRAPS:
            return word
        what, remedy = _TRAPS[tag]
        quotes = "" if tag == "timestamp" else f', or "{shorten(word)}" for text'
        raise ValueError(f"`{shorten(word)}` {what}: {remedy}{quotes}") from None
    return value


class _Parser:
    """Builds nodes from the events of PyYAML's parser, so that a fault is reported where it begins."""

    def __init__(self, source: YamlText, strings: bool, max_depth: int) -> None:
        self._source, self._strings, self._max_depth = source, strings, max_depth
        self._events: Iterator[Any] = yaml.parse(source.text, Loader=_LOADER)
        self._brackets: list[Span] = []  # that are open

    def document(self) -> YamlNode:
        """Parse the only document of the text, a mapping. Raises `source.error`."""
        top = Span(self._source, 1, 1)
        next(self._events)  # the stream's start
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return YamlNode(top, {}, top)
        event = next(self._events)
        root = self._parse_node(event, self._span_of(event), 1)
        next(self._events)  # the document's end
        if not isinstance(event := next(self._events), yaml.StreamEndEvent):
            raise self._span_of(event).error("a second document starts here; write one, without `---`")
        if not isinstance(root.value, dict):
            raise root.span.error("the file should be a mapping, lines of `key: value`")
        return root

    def _parse_node(self, event: Any, key: Span, depth: int) -> YamlNode:
        """Parse the value that begins with an event, all of its events included. Raises `source.error`."""
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            word = shorten(str(event.anchor))
            raise self._span_of(event).error(
                f"anchors and aliases ({word}) are not allowed: write the value out"
            )
        if event.tag is not None:
            raise self._span_of(event).error(
                f"tags ({shorten(event.tag.replace(_STANDARD, '!!'))}) are not allowed: remove it"
            )
        span = self._span_of(event)
        if isinstance(event, yaml.ScalarEvent):
            return YamlNode(span, self._convert_scalar(event), key)
        if depth > self._max_depth:
            raise span.error("text should stand here, not a list or a mapping")
        if event.flow_style:
            self._brackets.append(span)
        read = self._parse_entries if isinstance(event, yaml.MappingStartEvent) else self._parse_items
        value = read(depth + 1)
        if event.flow_style:
            self._brackets.pop()
        return YamlNode(span, value, key)

    def _parse_items(self, depth: int) -> list[YamlNode]:
        """Parse the items of a list, up to its end. Raises `source.error`."""
        items = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            if _is_empty(event):
                raise self._span_of(event).error("an item of this list has no value: write one, or remove it")
            items.append(self._parse_node(event, self._span_of(event), depth))
        return items

    def _parse_entries(self, depth: int) -> dict[str, YamlNode]:
        """Parse the keys and values of a mapping, up to its end. Raises `source.error`."""
        entries: dict[str, YamlNode] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise self._span_of(event).error("a key must be a single word; a list or mapping stands here")
            word, key = event.value, self._span_of(event)
            if word in entries:
                first = entries[word].key.line
                message = f"the key `{shorten(word)}` stands here a second time; line {first} has it already"
                raise key.error(message)
            value = next(self._events)
            if _is_empty(value):
                raise key.error(f"`{shorten(word)}` has no value: write one, or remove it{self._hint(key)}")
            entries[word] = self._parse_node(value, key, depth)
        return entries

    def _hint(self, key: Span) -> str:
        """Say what to indent if the keys of a key without a value stand right below it."""
        event: Any = next(self._events)
        below = self._span_of(event)
        if not isinstance(event, yaml.ScalarEvent) or (below.line, below.column) != (
            key.line + 1,
            key.column,
        ):
            return ""
        return f"; indent `{shorten(event.value)}` below it, if it is a part of it"

    def _convert_scalar(self, event: Any) -> Scalar:
        """Parse a scalar; quoted ones, and all if `strings` is set, are text. Raises `source.error`."""
        if self._strings and not event.style and event.value in ("~", "null"):
            raise self._span_of(event).error("this is empty: write a value, or put it in quotes")
        if event.style or self._strings:
            return str(event.value)
        try:
            return parse_scalar(event.value)
        except ValueError as error:
            raise self._span_of(event).error(str(error)) from error

    def _span_of(self, event: Any) -> Span:
        """Return the place of an event: the whole of a scalar on one line, else its first character."""
        start, end = event.start_mark, event.end_mark
        single = start.line == end.line and isinstance(event, yaml.ScalarEvent)
        return Span(
            self._source, start.line + 1, start.column + 1, end.column - start.column if single else 1
        )

    def syntax_error(self, error: yaml.MarkedYAMLError) -> KokoroTvmError:
        """Put an error of the parser in words; show a bracket or quote left open where it opens."""
        problem = str(error.problem)
        mark: Any = error.context_mark if problem.startswith(_REPORTED_LATE) else error.problem_mark
        span = Span(self._source, mark.line + 1, mark.column + 1)
        first, *others = _LINE_END.split(self._source.text)[mark.line :] or [""]
        rest = [first[mark.column :], *others]
        message = next((text for start, text in _PROBLEMS.items() if problem.startswith(start)), problem)
        if rest[0].startswith("\t"):
            message = "a tab stands here: indent with spaces"
        elif self._brackets and mark is error.problem_mark:
            bracket = self._brackets[-1]
            if not any(line.partition("#")[0].strip() for line in rest):
                return bracket.error("not valid YAML: what opens here is never closed")
            message += f" (inside what opens at {bracket.line}:{bracket.column})"
        return span.error(f"not valid YAML: {message}")


def _is_empty(event: Any) -> bool:
    return isinstance(event, yaml.ScalarEvent) and event.value == "" and not event.style


def _locate(source: YamlText, index: int) -> Span:
    """Return the place of the character at `index`."""
    lines = _LINE_END.split(source.text[:index])
    return Span(source, len(lines), len(lines[-1]) + 1)


def _count_columns(text: str) -> int:
    """Count terminal columns: combining marks take none, wide characters two."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )
