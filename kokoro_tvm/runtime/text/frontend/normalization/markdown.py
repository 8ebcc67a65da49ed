"""Remove markup inside a line: HTML tags and entities, Markdown emphasis, code, notes and autolinks.

markdown-it-py reads Markdown files (`runtime/documents/`). It cannot serve here, because libkokoro does the
same in C and every character keeps its place.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from kokoro_tvm.runtime.text.frontend.source import Edit, SourceText, edit_matches
from kokoro_tvm.runtime.text.markup.formulas import RAISED

_INLINE = (
    "a abbr b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span strike strong sub sup"
)
_BLOCK = "br div h1 h2 h3 h4 h5 h6 hr li ol p pre section table td th tr u ul blockquote img"
_ANY = "|".join(sorted(f"{_INLINE} {_BLOCK}".split(), key=len, reverse=True))
# Attributes need values: "a<b and c>d" are two comparisons.
_TAG = re.compile(
    rf"<!--[^<>]*-->|<(?P<shifted>su[bp])>(?P<figures>[0-9+-]{{1,9}})</su[bp]>|</?(?P<name>(?:{_ANY}))"
    r"(?:\s[^\s<>=]{1,99}=[^<>]*|\s?/?\s?)>",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_MARKS = re.compile(
    r"(?P<autolink><(?P<address>(?:https?://|mailto:)?[^\s<>@]{1,64}[@.][^\s<>]{1,2000})>)"
    r"|(?P<note>^\[\^[\w-]{1,40}\]:|\[\^[\w-]{1,40}\])"
    r"|(?P<empty>!?\[\](?:\([^()\[\]]*\))?)"
    r"|(?P<reference>\[(?![0-9]{1,9}\])(?P<words>[^\[\]]+)\]\[[^\[\]]{0,99}\])"
    r"|(?P<escape>\\(?P<char>[][\\`*_~#()<>!|.+-]))"
    r"|(?P<cell> \| )"
    r"|(?P<run>\*+|_+|~+|`+)"
)
_LOWERED = str.maketrans("0123456789+-", "₀₁₂₃₄₅₆₇₈₉₊₋")
_PICTURE = re.compile(r"(?<!\S)!(?=\S)")
_LONGEST = {"*": 3, "_": 3, "~": 2, "`": 3}  # longest run with a meaning


def remove_image_marks(source: SourceText) -> Iterator[Edit]:
    """Yield edits that remove the "!" of an image, `![a cat](cat.png)`, whose brackets are gone."""
    for mark in _PICTURE.finditer(source.text):
        if source.ends[mark.start()] < source.starts[mark.end()]:
            yield Edit(*mark.span(), "")


def remove_tags(text: str) -> Iterator[Edit]:
    """Yield edits that remove HTML comments and tags.

    Block tags leave a space; figures in `<sup>` and `<sub>` become raised and lowered characters.
    """
    inline = frozenset(_INLINE.split())

    def replacement(match: re.Match[str]) -> str:
        if match["figures"]:
            return match["figures"].translate(RAISED if match["shifted"].lower() == "sup" else _LOWERED)
        return "" if (match["name"] or "a").lower() in inline else " "

    return edit_matches(_TAG, text, replacement)


def decode_entities(text: str) -> Iterator[Edit]:
    """Yield edits from entities to their characters; every space becomes a plain one."""

    def character(match: re.Match[str]) -> str | None:
        named = html.unescape(match[0])
        if named == match[0]:
            return None
        return "".join(
            " " if char.isspace() else char for char in named if char.isprintable() or char.isspace()
        )

    return edit_matches(_ENTITY, text, character)


def remove_marks(text: str) -> Iterator[Edit]:
    """Yield edits that remove Markdown marks with a meaning: paired emphasis, code, notes, escapes."""
    edits: list[Edit] = []
    opened: dict[str, list[re.Match[str]]] = {}
    for match in _MARKS.finditer(text):
        if match["run"]:
            opening = _close(text, match, opened)
            if opening is not None:
                edits += [Edit(*opening.span(), ""), Edit(*match.span(), "")]
        else:
            replacement = (
                match["address"] or match["words"] or match["char"] or ("," if match["cell"] else "")
            )
            edits.append(Edit(*match.span(), replacement + " " if match["cell"] else replacement))
    return iter(sorted(edits, key=lambda edit: edit.start))


def _close(text: str, run: re.Match[str], opened: dict[str, list[re.Match[str]]]) -> re.Match[str] | None:
    """Return the run that `run` closes; else remember it as an opening run, if it may be one."""
    marks = run[0]
    if len(marks) > _LONGEST[marks[0]] or marks == "~":
        return None
    before, after = text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1]
    if before.isdigit() and after.isdigit():
        return None  # a product
    openings = opened.setdefault(marks, [])
    if openings and (before.strip() or marks[0] == "`"):
        opening = openings[-1]
        inside_words = str.isalnum(text[opening.start() - 1 : opening.start()]) and str.isalnum(after)
        if opening.end() < run.start() and not (inside_words or (marks[0] == "_" and str.isalnum(after))):
            openings.clear()
            return opening
    if after.strip() and not (marks[0] == "_" and str.isalnum(before)):
        openings.append(run)
    return None
