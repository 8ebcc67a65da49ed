"""Markup inside a text: brackets (`[pause:0.5s]`) and a part of SSML, both parsed into the same values."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import truncate
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.markup.inline import parse_brackets
from kokoro_tvm.runtime.text.markup.items import Break, MarkupItem, MarkupVocabulary, SpeakingStyle, TextRun

__all__ = ["Break", "MarkupItem", "MarkupVocabulary", "SpeakingStyle", "TextRun", "is_ssml", "parse_markup"]

_PORTION = 1 << 12  # characters that are looked at together
_COMMENT = r"<!--(?:(?!-->).)*-->"
_SSML = re.compile(rf"\ufeff?\s*(<\?xml[^>]*>\s*)?({_COMMENT}\s*)*<(speak[\s/>]|!DOCTYPE\s+speak)", re.DOTALL)
_DECISION = 1 << 10  # characters of the text that decide whether it is SSML


def parse_markup(
    text: str | Iterable[str], known: MarkupVocabulary, ssml: bool | None = None, markup: bool = True
) -> Iterator[MarkupItem]:
    """Stretches and breaks of a text as it comes.

    ssml: whether it is SSML; None looks whether it begins with `<speak`, after space and an XML declaration;
    markup: whether any is followed, else brackets and tags are text. Raises InputError, with line and column,
    for markup that makes no sense.
    """
    portions = _portions(text)
    if not markup:
        if ssml:
            raise InputError(
                "A text that is SSML has markup. Leave out `ssml`, or `markup=False` (`--plain`)."
            )
        return _plain(portions)
    if ssml is None:
        head = _head(portions)
        ssml = is_ssml(head)
        portions = itertools.chain([head], portions)
    if not ssml:
        return parse_brackets(portions, known)
    from kokoro_tvm.runtime.text.markup.ssml import parse_ssml  # expat takes a few milliseconds to load

    return parse_ssml(portions, known)


def _plain(portions: Iterable[str]) -> Iterator[MarkupItem]:
    start = 0
    for portion in portions:
        yield TextRun(SourceText.of(portion, start), SpeakingStyle())
        start += len(portion)


def is_ssml(text: str) -> bool:
    """Whether a text begins with `<speak`, after space and an XML declaration."""
    return _SSML.match(text[:_DECISION]) is not None


def _portions(text: str | Iterable[str]) -> Iterator[str]:
    if not isinstance(text, Iterable):
        raise InputError(f"The text to speak is a string, or strings in turn, not {truncate(repr(text))}.")
    for portion in (text,) if isinstance(text, str) else text:
        if not isinstance(portion, str):
            raise InputError(f"The text to speak should come as strings, but {truncate(repr(portion))} came.")
        for place in range(0, len(portion), _PORTION):
            yield portion[place : place + _PORTION]


def _head(portions: Iterator[str]) -> str:
    """As much of the text as decides about it."""
    head = ""
    for portion in portions:
        head += portion
        begin = head.lstrip("\ufeff \t\r\n")
        if len(head) >= _DECISION or (begin and begin[0] != "<") or _SSML.match(head):
            break
    return head
