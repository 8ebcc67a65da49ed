"""Markdown as it is read aloud: without its marks, a chapter for each heading of the first two levels."""

from __future__ import annotations

import html
import re
from pathlib import Path

from kokoro_tvm.runtime.readers.document import Chapter, Document, decoded

__all__ = ["read"]

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*)")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-{2,})\s*$")
_RULE = re.compile(r"^ {0,3}([-*_])(\s*\1){2,}\s*$")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")
_QUOTE = re.compile(r"^ {0,3}(?:>\s?)+")
_TABLE_RULE = re.compile(r"\|?(?::?-+:?\|)+:?-*:?$")  # of a line without its space
_REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s+\S+.*$")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_PRIVATE = 0xF1A00  # where escaped marks hide while the others are read
_HIDDEN = re.compile(f"[{chr(_PRIVATE)}-{chr(_PRIVATE + 0x7F)}]")
_TARGET = r"\((?:[^()]|\([^()]*\))*\)"  # of a link
# None goes on beyond what begins another of its kind: so a text is looked at once, whatever has no end in it.
_INLINE = (
    (re.compile(r"<!--(?:(?!<!--|-->).)*-->", re.DOTALL), ""),
    (re.compile(rf"!\[([^\[\]]*)\]{_TARGET}"), r"\1"),  # pictures: what they show
    (re.compile(rf"\[([^\[\]]+)\](?!\(/[^()]*/\)){_TARGET}"), r"\1"),  # links, but not [word](/phonemes/)
    (re.compile(r"\[([^\[\]]+)\]\[[^\[\]]*\]"), r"\1"),
    (re.compile(r"\[\^[^\[\]]+\]"), ""),  # marks of footnotes
    (re.compile(r"<(https?://[^<>\s]+|[^<>\s@]+@[^<>\s]+)>"), r"\1"),
    (re.compile(r"</?[A-Za-z][^<>]*>"), ""),
    (re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL), r"\2"),
    (re.compile(r"(\*{1,3}|~~)(?=\S)((?:(?!(?<=\s)\1(?=\S)).)+?)(?<=\S)\1", re.DOTALL), r"\2"),
    (
        re.compile(
            r"(?<!\w)(_{1,3})(?=\S)((?:(?!(?<!\w)\1(?=\w)|(?<=\s)\1(?=\S)).)+?)(?<=\S)\1(?!\w)", re.DOTALL
        ),
        r"\2",
    ),
)


def read(data: bytes, path: Path) -> Document:
    """The text of a Markdown file; blocks of code are left out, with a note. Raises InputError."""
    lines, codes = _without_code(decoded(data, path).split("\n"))
    chapters: list[Chapter] = []
    title, blocks = "", list[list[str]]([[]])  # lines of each block
    for place, line in enumerate(lines):
        if _RULE.match(line) or _TABLE_RULE.match("".join(line.split())) or _REFERENCE.match(line):
            blocks.append([])
            continue
        heading = _HEADING.match(line)
        under = _UNDERLINE.match(lines[place + 1]) if place + 1 < len(lines) and line.strip() else None
        if _UNDERLINE.match(line) and place and lines[place - 1].strip():
            continue  # it belongs to the line above
        if heading or (under and not blocks[-1] and not _ITEM.match(line)):
            level = len(heading[1]) if heading else 1 if under and under[1][0] == "=" else 2
            text = _plain(heading[2].rstrip().rstrip("#").rstrip() if heading else line.strip())
            if level <= 2:
                chapters += _chapter(title, blocks)
                title, blocks = text, []
            blocks += [[text], []]
            continue
        line = _QUOTE.sub("", line)
        if not line.strip():
            blocks.append([])
        elif _ITEM.match(line):
            blocks.append([_ITEM.sub("", line)])
        elif line.strip().startswith("|"):
            blocks += [[", ".join(cell.strip() for cell in line.strip().strip("|").split("|"))], []]
        else:
            blocks[-1].append(line.strip())
    chapters += _chapter(title, blocks)
    notes = (f"Left out: {codes} block{'s' * (codes > 1)} of code.",) if codes else ()
    first = next((chapter.title for chapter in chapters if chapter.title), path.stem)
    return Document(first, tuple(chapters) or (Chapter("", ""),), notes=notes)


def _without_code(lines: list[str]) -> tuple[list[str], int]:
    """Lines outside of fences, and the number of blocks that were left out."""
    kept: list[str] = []
    fence, count = "", 0
    for line in lines:
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif found:
            fence, count = found[1], count + 1
            kept.append("")
        else:
            kept.append(line)
    return kept, count


def _chapter(title: str, blocks: list[list[str]]) -> list[Chapter]:
    text = "\n\n".join(plain for block in blocks if (plain := _plain("\n".join(block)).strip()))
    return [Chapter(title, text)] if text else []


def _plain(text: str) -> str:
    text = _ESCAPE.sub(lambda found: chr(_PRIVATE + ord(found[1])), text)
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return html.unescape(_HIDDEN.sub(lambda found: chr(ord(found[0]) - _PRIVATE), text))
