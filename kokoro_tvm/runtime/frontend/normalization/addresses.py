"""Addresses as they are spoken: of the web, of mail, #tags and @names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from kokoro_tvm.runtime.frontend.normalization.rules import any_of, rewrite
from kokoro_tvm.runtime.frontend.source import Edit

__all__ = ["mail", "tags", "web"]

# Those that are no words of English: a space may be missing after a full stop.
_DOMAINS = """
com org net edu gov mil int info biz io ai app dev co uk ca au nz ie de fr es nl ch se fi dk pl pt br jp
cn kr ru eu tv fm ly gg xyz tech online site blog cloud news
"""
_WEB = re.compile(
    r"(?<![\w@./-])(?:(?:https?|ftp)://(?P<address>[^\s<>\"“”]{1,2000})"
    rf"|(?P<bare>(?:[a-zA-Z0-9-]{{1,63}}\.){{1,5}}{any_of(_DOMAINS.split())}(?![\w@-]|\.\w)"
    r"(?:[/?#][^\s<>\"“”]{0,2000})?))"
)
_MAIL = re.compile(r"(?<![\w.+%@-])[\w.+%-]{1,64}@(?:[a-zA-Z0-9-]{1,63}\.){1,8}[a-zA-Z]{2,24}(?![\w@])")
_TAG = re.compile(r"(?<![\w&#@/])(?P<mark>[#@])(?P<name>(?=\w*[^\W\d])\w{1,100})")
_SHARP = re.compile(r"(?<!\w)(?P<letter>[A-G])#(?!\w)")
_TRAILING = ".,;:!?…)]}'’*_"
_SAID = {
    ".": "dot", "/": "slash", "-": "dash", "_": "underscore", "?": "question mark", "=": "equals", "&": "and",
    "#": "hash", "+": "plus", "@": "at", "~": "tilde", "%": "percent", ":": "colon", "!": "exclamation mark",
    "*": "star", "$": "dollar",
}  # fmt: skip
_PIECE = re.compile(r"[^\W_]+|.", re.DOTALL)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")


def web(text: str) -> Iterator[Edit]:
    """https://example.com/a: example dot com slash A."""
    for match in _WEB.finditer(text):
        address = match["address"] or match["bare"]
        kept = address.rstrip(_TRAILING)
        if kept and ("." in kept or match["address"]):
            end = match.end() - (len(address) - len(kept))
            yield Edit(match.start(), end, _spoken(unquote(kept).rstrip("/") or kept))


def mail(text: str) -> Iterator[Edit]:
    """john.doe@example.com: john dot doe at example dot com."""
    return rewrite(_MAIL, text, lambda match: _spoken(match[0]))


def tags(text: str) -> Iterator[Edit]:
    """#NewYork: hashtag New York; @john_doe: at john doe; C#: C sharp."""

    def spoken(match: re.Match[str]) -> str | None:
        if match.re is _SHARP:
            return f"{match['letter']} sharp"
        words = " ".join(_WORDS.findall(match["name"]))
        return f"{'hashtag' if match['mark'] == '#' else 'at'} {words}" if words else None

    found = [*rewrite(_TAG, text, spoken), *rewrite(_SHARP, text, spoken)]
    return iter(sorted(found, key=lambda edit: edit.start))


def _spoken(address: str) -> str:
    """Every word and mark of an address; a letter alone by its name."""
    pieces = []
    for piece in _PIECE.findall(address):
        if piece.lower() == "www":
            pieces.append("W W W")
        elif piece.isascii() and piece.isalpha() and len(piece) == 1:
            pieces.append(piece.upper())
        else:
            pieces.append(_SAID.get(piece, piece))
    return " ".join(piece for piece in pieces if not piece.isspace())
