"""Markup inside a line: HTML's tags and entities, Markdown's emphasis, code, notes and autolinks."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from kokoro_tvm.runtime.text.frontend.source import Edit, SourceText, edit_matches

__all__ = ["entities", "marks", "pictures", "tags"]

_INLINE = (
    "a abbr b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span strike strong sub sup"
)
_BLOCK = "br div h1 h2 h3 h4 h5 h6 hr li ol p pre section table td th tr u ul blockquote img"
_ANY = "|".join(sorted(f"{_INLINE} {_BLOCK}".split(), key=len, reverse=True))
# With attributes that have values: "a<b and c>d" are two comparisons.
_TAG = re.compile(
    rf"<!--[^<>]*-->|</?(?P<name>(?:{_ANY}))"
    r"(?:\s[^\s<>=]{1,99}=[^<>]*|\s?/?\s?)>",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_MARKS = re.compile(
    r"(?P<autolink><(?P<address>(?:https?://|mailto:)?[^\s<>@]{1,64}[@.][^\s<>]{1,2000})>)"
    r"|(?P<note>^\[\^[\w-]{1,40}\]:|\[\^[\w-]{1,40}\])"
    r"|(?P<empty>!?\[\](?:\([^()\[\]]*\))?)"
    r"|(?P<reference>\[(?P<words>[^\[\]]+)\]\[[^\[\]]{0,99}\])"
    r"|(?P<escape>\\(?P<char>[][\\`*_~#()<>!|.+-]))"
    r"|(?P<cell> \| )"
    r"|(?P<run>\*+|_+|~+|`+)"
)
_PICTURE = re.compile(r"(?<!\S)!(?=\S)")
_LONGEST = {"*": 3, "_": 3, "~": 2, "`": 3}  # marks in a row that mean anything


def pictures(source: SourceText) -> Iterator[Edit]:
    """The mark of a picture, `![a cat](cat.png)`, is left out, once links have lost their brackets."""
    for mark in _PICTURE.finditer(source.text):
        if source.ends[mark.start()] < source.starts[mark.end()]:
            yield Edit(*mark.span(), "")


def tags(text: str) -> Iterator[Edit]:
    """Comments and tags of HTML are left out; those that begin a line or a cell leave a space."""
    inline = frozenset(_INLINE.split())
    return edit_matches(_TAG, text, lambda m: "" if (m["name"] or "a").lower() in inline else " ")


def entities(text: str) -> Iterator[Edit]:
    """Entities are the characters they name, spaces of every width one space."""

    def character(match: re.Match[str]) -> str | None:
        named = html.unescape(match[0])
        if named == match[0]:
            return None
        return "".join(
            " " if char.isspace() else char for char in named if char.isprintable() or char.isspace()
        )

    return edit_matches(_ENTITY, text, character)


def marks(text: str) -> Iterator[Edit]:
    """Marks of Markdown are left out where they mean something: emphasis in pairs, code, notes, escapes."""
    edits: list[Edit] = []
    opened: dict[str, list[re.Match[str]]] = {}
    for match in _MARKS.finditer(text):
        if match["run"]:
            opening = _close(text, match, opened)
            if opening is not None:
                edits += [Edit(*opening.span(), ""), Edit(*match.span(), "")]
        else:
            kept = match["address"] or match["words"] or match["char"] or ("," if match["cell"] else "")
            edits.append(Edit(*match.span(), kept + " " if match["cell"] else kept))
    return iter(sorted(edits, key=lambda edit: edit.start))


def _close(text: str, run: re.Match[str], opened: dict[str, list[re.Match[str]]]) -> re.Match[str] | None:
    """The run that this one ends; where it ends none, it may begin one itself."""
    marks = run[0]
    if len(marks) > _LONGEST[marks[0]] or marks == "~":
        return None
    before, after = text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1]
    if before.isdigit() and after.isdigit():
        return None  # a product
    waiting = opened.setdefault(marks, [])
    if waiting and (before.strip() or marks[0] == "`"):
        opening = waiting[-1]
        inside_words = _is_word(text[opening.start() - 1 : opening.start()]) and _is_word(after)
        if opening.end() < run.start() and not (inside_words or (marks[0] == "_" and _is_word(after))):
            waiting.clear()
            return opening
    if after.strip() and not (marks[0] == "_" and _is_word(before)):
        waiting.append(run)
    return None


def _is_word(char: str) -> bool:
    return char.isalnum()
