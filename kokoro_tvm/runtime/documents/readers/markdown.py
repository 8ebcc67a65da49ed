"""Markdown as it is read aloud: CommonMark with tables, written as HTML, which the reader of HTML reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from markdown_it import MarkdownIt, helpers
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock, reference
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from kokoro_tvm.runtime.documents.readers.document import Chapter, Document, decoded, left_out
from kokoro_tvm.runtime.documents.readers.html import ELEMENTS, page_of
from kokoro_tvm.runtime.text.frontend.source import parse_link

__all__ = ["read"]

_DEEPEST = 100  # levels of lists and quotations; an item is two
_DEEPEST_BRACKETS = 8
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n(?=#|[\w-]+[ \t]*:)(?:(?!---|\.\.\.)[^\n]*\n)*(?:---|\.\.\.)[ \t]*(?:\n|\Z)"
    r"|\+\+\+[ \t]*\n(?=#|\[|[\w-]+[ \t]*=)(?:(?!\+\+\+)[^\n]*\n)*\+\+\+[ \t]*(?:\n|\Z)"
)
_MARK = re.compile(
    r"^\[\^[\w-]{1,40}\]:?|\[\^[\w-]{1,40}\]"
)  # of a note; before the note itself with a colon
_BRACKET = re.compile(r"\\.|[\[\]]", re.DOTALL)
_BOX = re.compile(r"\[[ xX]\] ")
_TAG = re.compile(r"<(?=/?([A-Za-z][A-Za-z0-9-]*))")


def read(data: bytes, path: Path) -> Document:
    """The text of a Markdown file, a chapter for each heading of the first two levels.

    Front matter, blocks of code and marks of notes are left out, with a note. Raises InputError.
    """
    source = decoded(data, path)
    front = _FRONT_MATTER.match(source)
    html = _Html()
    page = page_of(html.render_source(source[front.end() :] if front else source))
    notes = (
        left_out(front[0].rstrip().count("\n") - 1 if front else 0, "line", "of front matter"),
        left_out(html.codes, "block", "of code"),
        left_out(html.marks + page.marks, "mark", "of notes"),
        f"Left out: what lies in more than {_DEEPEST // 2} lists and quotations." if html.deep else "",
    )
    title = next((chapter.title for chapter in page.chapters if chapter.title), path.stem)
    return Document(title, page.chapters or (Chapter("", ""),), notes=tuple(filter(None, notes)))


def _reference(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The rule for addresses of links, but `[^1]: text` is a note and no address."""
    place = state.bMarks[start] + state.tShift[start]
    return not state.src.startswith("[^", place) and reference(state, start, end, silent)


class _Labels:
    """Where texts of links end. Brackets that nothing closes, and deeply nested ones, are text at once: the
    package looks through the rest of a paragraph for each of them."""

    def __init__(self) -> None:
        self._starts: dict[str, frozenset[int]] = {}  # of brackets that may be links, by paragraph

    def end(self, state: StateInline, start: int, disableNested: bool = False) -> int:  # noqa: N803
        if state.src not in self._starts:
            self._starts[state.src] = frozenset(_brackets(state.src))
        return helpers.parseLinkLabel(state, start, disableNested) if start in self._starts[state.src] else -1


def _brackets(source: str) -> Iterator[int]:
    """Places of opening brackets that are closed and hold few others in each other."""
    opened: list[tuple[int, int]] = []  # place and depth of what is in it
    for found in _BRACKET.finditer(source):
        if found[0] == "[":
            opened.append((found.start(), 0))
        elif found[0] == "]" and opened:
            start, depth = opened.pop()
            if depth < _DEEPEST_BRACKETS:
                yield start
            if opened:
                opened[-1] = (opened[-1][0], max(opened[-1][1], depth + 1))


class _Html(RendererHTML):
    """HTML of what is read; it counts what is left out: blocks of code, and marks of notes."""

    def __init__(self) -> None:
        super().__init__()
        self.codes = self.marks = 0
        self.deep = False
        self._links: list[str] = []  # what each open link has after its text

    def render_source(self, source: str) -> str:
        parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable(["table", "strikethrough"])
        parser.block.ruler.at("reference", _reference)
        own = {"parseLinkLabel": _Labels().end}
        parser.helpers = SimpleNamespace(**vars(helpers) | own)  # type: ignore[assignment]  # not the module
        parser.normalizeLink = lambda url: url  # type: ignore[method-assign]  # phonemes stay as they are
        tokens = parser.parse(source)
        self.deep = any(token.nesting == 1 and token.level + 2 > _DEEPEST for token in tokens)
        for item, _, text in zip(tokens, tokens[1:], tokens[2:], strict=False):
            if item.type == "list_item_open" and text.type == "inline" and text.children:
                text.children[0].content = _BOX.sub("", text.children[0].content, count=1)
        return str(self.render(tokens, parser.options, {}))

    def fence(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        self.codes += 1
        return ""

    def code_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return self.fence(tokens, idx, options, env)

    def text(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        content, marks = _MARK.subn("", tokens[place].content)
        self.marks += marks
        return escape(content, quote=False)

    def image(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        return escape(self.renderInlineAsText(tokens[place].children, options, env), quote=False)

    def link_open(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        """Links that may be markup, `[word](/phonemes/)`, stay as they are."""
        request = str(tokens[place].attrs["href"])
        self._links.append("" if parse_link(request) is None else f"]({escape(request)})")
        return "[" if self._links[-1] else ""

    def link_close(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        return self._links.pop()

    def list_item_open(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        number = tokens[place].info
        return f'<li value="{number}">' if number else "<li>"

    def html_inline(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        return _tags(tokens[place].content)

    def html_block(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        content = tokens[place].content
        ended = not content.lstrip().startswith("<!--") or "-->" in content
        return _tags(content) if ended else f"<p>{escape(content, quote=False)}</p>"


def _tags(source: str) -> str:
    """HTML in which the tags that HTML does not have are text."""
    return _TAG.sub(lambda tag: "<" if tag[1].lower() in ELEMENTS else "&lt;", source)
