"""Texts with links, as the front end reads them."""

from __future__ import annotations

from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.markup import MarkupVocabulary, TextRun, parse_markup

__all__ = ["linked"]


def linked(text: str) -> SourceText:
    """A text without pauses, whose `[word](/phonemes/)` are links; all of its symbols are known."""
    items = list(parse_markup(text, MarkupVocabulary(frozenset(text), lambda voice: "a"), ssml=False))
    stretches = [item for item in items if isinstance(item, TextRun)]
    assert len(stretches) == len(items)
    return SourceText.concatenate(stretch.source for stretch in stretches)
