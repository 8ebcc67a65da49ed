"""Texts with links, as the front end reads them."""

from __future__ import annotations

from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.markup import Known, Stretch, parse

__all__ = ["linked"]


def linked(text: str) -> SourceText:
    """A text without pauses, whose `[word](/phonemes/)` are links; all of its symbols are known."""
    items = list(parse(text, Known(frozenset(text), lambda voice: "a"), ssml=False))
    stretches = [item for item in items if isinstance(item, Stretch)]
    assert len(stretches) == len(items)
    return SourceText.concatenated(stretch.source for stretch in stretches)
