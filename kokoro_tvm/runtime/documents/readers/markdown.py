"""Markdown: CommonMark with tables, parsed by markdown-it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from types import SimpleNamespace

from markdown_it import MarkdownIt, helpers
from markdown_it.rules_block import StateBlock, reference
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from kokoro_tvm.runtime.documents.readers.document import Chapter, Document, decode_text, omission
from kokoro_tvm.runtime.documents.readers.page import BLOCKS, PageBuilder
from kokoro_tvm.runtime.text.frontend.source import parse_link

_MAX_NESTING = 100  # levels of lists and quotations; an item is two
_MAX_BRACKET_NESTING = 8
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n(?=#|[\w-]+[ \t]*:)(?:(?!---|\.\.\.)[^\n]*\n)*(?:---|\.\.\.)[ \t]*(?:\n|\Z)"
    r"|\+\+\+[ \t]*\n(?=#|\[|[\w-]+[ \t]*=)(?:(?!\+\+\+)[^\n]*\n)*\+\+\+[ \t]*(?:\n|\Z)"
)
_NOTE_MARK = re.compile(r"^\[\^[\w-]{1,40}\]:?|\[\^[\w-]{1,40}\]")  # with a colon before the note itself
_BRACKET = re.compile(r"\\.|[\[\]]", re.DOTALL)
_CHECKBOX = re.compile(r"\[[ xX]\] ")
_HTML = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<raw>script|style)\b.*?(?:</(?P=raw)>|\Z)"
    r"|<(?P<end>/?)(?P<name>[a-z][a-z0-9-]*)[^>]*(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
# Elements that HTML has: another name in angle brackets is text.
_ELEMENTS = BLOCKS | frozenset(
    {"a", "abbr", "area", "b", "bdi", "bdo", "big", "br", "center", "cite", "code", "col", "data", "del"}
    | {"details", "dfn", "em", "font", "head", "html", "i", "img", "input", "ins", "kbd", "label", "link"}
    | {"mark", "math", "meta", "nav", "noscript", "picture", "q", "rb", "rp", "rt", "ruby", "s", "samp"}
    | {"select", "small", "source", "span", "strike", "strong", "sub", "summary", "sup", "svg", "td"}
    | {"template", "textarea", "th", "time", "title", "tt", "u", "var", "video", "wbr"}
)


def read(data: bytes, path: Path) -> Document:
    """Read a Markdown file, a chapter for each heading of the first two levels.

    Front matter, blocks of code and marks of notes are left out, with a note.

    Raises:
        InputError: the file is not UTF-8 or UTF-16.
    """
    source = decode_text(data, path)
    front_matter = _FRONT_MATTER.match(source)
    builder = _MarkdownBuilder()
    builder.parse(source[front_matter.end() :] if front_matter else source)
    page = builder.build()
    notes = (
        omission(front_matter[0].rstrip().count("\n") - 1 if front_matter else 0, "line", "of front matter"),
        omission(builder.code_blocks, "block", "of code"),
        omission(page.note_marks, "mark", "of notes"),
        f"Left out: what lies in more than {_MAX_NESTING // 2} lists and quotations." * builder.is_too_deep,
    )
    title = next((chapter.title for chapter in page.chapters if chapter.title), path.stem)
    return Document(title, page.chapters or (Chapter("", ""),), notes=tuple(filter(None, notes)))


class _MarkdownBuilder(PageBuilder):
    def __init__(self) -> None:
        super().__init__()
        self.code_blocks = 0
        self.is_too_deep = False
        self._links: list[str] = []  # per open link: what follows its text

    def parse(self, source: str) -> None:
        parser = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable(["table", "strikethrough"])
        parser.block.ruler.at("reference", _parse_reference)
        own = {"parseLinkLabel": _LinkLabels().find_end}
        parser.helpers = SimpleNamespace(**vars(helpers) | own)  # type: ignore[assignment]  # not the module
        parser.normalizeLink = lambda url: url  # type: ignore[method-assign]  # phonemes stay as they are
        tokens = parser.parse(source)
        self.is_too_deep = any(token.nesting == 1 and token.level + 2 > _MAX_NESTING for token in tokens)
        for item, _, text in zip(tokens, tokens[1:], tokens[2:], strict=False):
            if item.type == "list_item_open" and text.type == "inline" and text.children:
                text.children[0].content = _CHECKBOX.sub("", text.children[0].content, count=1)
        for token in tokens:
            self._add(token)

    def _add(self, token: Token) -> None:
        match token.type:
            case "inline":
                for child in token.children or ():
                    self._add(child)
            case "text":
                content, marks = _NOTE_MARK.subn("", token.content)
                self.note_marks += marks
                self.data(content)
            case "code_inline":
                self.data(token.content)
            case "softbreak":
                self.data("\n")
            case "fence" | "code_block":
                self.code_blocks += 1
            case "image":
                for child in token.children or ():
                    self.data(child.content or " ")
            case "link_open":  # markup such as `[word](/phonemes/)` stays as it is
                request = str(token.attrs["href"])
                self._links.append("" if parse_link(request) is None else f"]({request})")
                self.data("[" if self._links[-1] else "")
            case "link_close":
                self.data(self._links.pop())
            case "html_inline":
                self._add_html(token.content)
            case "html_block":
                if token.content.lstrip().startswith("<!--") and "-->" not in token.content:
                    self.data(token.content)
                else:
                    self._add_html(token.content)
                self.end_paragraph()
            case _ if token.nesting >= 0:
                number = {"value": token.info} if token.type == "list_item_open" else {}
                self.start(token.tag, number)
            case _:
                self.end(token.tag)

    def _add_html(self, source: str) -> None:
        """Add the text between tags; those of blocks, line breaks and raised text count."""
        place = 0
        for match in _HTML.finditer(source):
            name = (match["name"] or "").lower()
            if name and name not in _ELEMENTS:
                continue
            self.data(unescape(source[place : match.start()]))
            place = match.end()
            if name and match["end"]:
                self.end(name)
            elif name:
                self.start(name, {})
        self.data(unescape(source[place:]))


def _parse_reference(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse the address of a link, but leave `[^1]: text`, which is a note."""
    place = state.bMarks[start] + state.tShift[start]
    return not state.src.startswith("[^", place) and reference(state, start, end, silent)


class _LinkLabels:
    """Finds the ends of links' texts in linear time.

    Brackets that nothing closes, and deeply nested ones, are text at once: markdown-it searches the rest of a
    paragraph for each of them.
    """

    def __init__(self) -> None:
        self._starts: dict[str, frozenset[int]] = {}  # of brackets that may be links, by paragraph

    def find_end(self, state: StateInline, start: int, disableNested: bool = False) -> int:  # noqa: N803
        if state.src not in self._starts:
            self._starts[state.src] = frozenset(_find_brackets(state.src))
        return helpers.parseLinkLabel(state, start, disableNested) if start in self._starts[state.src] else -1


def _find_brackets(source: str) -> Iterator[int]:
    """Yield the places of opening brackets that are closed and hold few nested ones."""
    opened: list[tuple[int, int]] = []  # place, depth of what it holds
    for match in _BRACKET.finditer(source):
        if match[0] == "[":
            opened.append((match.start(), 0))
        elif match[0] == "]" and opened:
            start, depth = opened.pop()
            if depth < _MAX_BRACKET_NESTING:
                yield start
            if opened:
                opened[-1] = (opened[-1][0], max(opened[-1][1], depth + 1))
