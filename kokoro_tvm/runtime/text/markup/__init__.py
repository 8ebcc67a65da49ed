"""Markup inside a text: brackets (`[pause:0.5s]`) and a subset of SSML, parsed into the same items."""

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

_PORTION = 1 << 12  # characters that are parsed together
_COMMENT = r"<!--(?:(?!-->).)*-->"
_SSML = re.compile(rf"\ufeff?\s*(<\?xml[^>]*>\s*)?({_COMMENT}\s*)*<(speak[\s/>]|!DOCTYPE\s+speak)", re.DOTALL)
_HEAD = 1 << 10  # characters of the text that decide whether it is SSML


def parse_markup(
    text: str | Iterable[str], vocabulary: MarkupVocabulary, ssml: bool | None = None, markup: bool = True
) -> Iterator[MarkupItem]:
    """Yield the runs of text and the breaks of a text as it arrives.

    Args:
        text: The text, or its portions in turn.
        vocabulary: Phoneme symbols and voices that markup may name.
        ssml: Whether it is SSML; None detects `<speak` at the beginning.
        markup: False takes brackets and tags as text.

    Raises:
        InputError: With line and column: the markup is invalid.
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
        return parse_brackets(portions, vocabulary)
    from kokoro_tvm.runtime.text.markup.ssml import parse_ssml  # loading expat takes a few milliseconds

    return parse_ssml(portions, vocabulary)


def _plain(portions: Iterable[str]) -> Iterator[MarkupItem]:
    start = 0
    for portion in portions:
        yield TextRun(SourceText.of(portion, start), SpeakingStyle())
        start += len(portion)


def is_ssml(text: str) -> bool:
    """Return whether a text begins with `<speak`, after space and an XML declaration."""
    return _SSML.match(text[:_HEAD]) is not None


def _portions(text: str | Iterable[str]) -> Iterator[str]:
    if not isinstance(text, Iterable):
        raise InputError(f"The text to speak is a string, or strings in turn, not {truncate(repr(text))}.")
    for portion in (text,) if isinstance(text, str) else text:
        if not isinstance(portion, str):
            raise InputError(f"The text to speak should come as strings, but {truncate(repr(portion))} came.")
        for place in range(0, len(portion), _PORTION):
            yield portion[place : place + _PORTION]


def _head(portions: Iterator[str]) -> str:
    """Read as much of the text as decides whether it is SSML."""
    head = ""
    for portion in portions:
        head += portion
        begin = head.removeprefix("\ufeff").lstrip()
        if len(head) >= _HEAD or (begin and begin[0] != "<") or _SSML.match(head):
            break
    return head
