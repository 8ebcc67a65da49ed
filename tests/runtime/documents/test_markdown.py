"""Equality of Markdown in a stream, in a file and in JavaScript (tests/web/markdown.test.mjs)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kokoro_tvm.runtime.documents.readers import READERS
from kokoro_tvm.runtime.text.frontend.normalization import markdown
from kokoro_tvm.runtime.text.frontend.paragraphs import split_paragraphs
from kokoro_tvm.runtime.text.frontend.source import SourceText, skip_links
from kokoro_tvm.runtime.text.markup import MarkupVocabulary, parse_markup
from kokoro_tvm.runtime.text.markup.passages import split_sections

CASES = json.loads(Path(__file__).with_name("markdown_cases.json").read_text(encoding="utf-8"))


def spoken(text: str) -> str:
    """Return a text without markup, on one line."""
    known = MarkupVocabulary(frozenset("ˈaɔbcdefhijklmnopqrstuvwxyzʃɹIO"), lambda voice: "a")
    parts = []
    for section in split_sections(parse_markup(text, known)):
        for part in split_paragraphs(section.source):
            parts += without_marks(part).text.split()
    return " ".join(parts)


def without_marks(source: SourceText) -> SourceText:
    source = source.apply_edits(skip_links(markdown.remove_image_marks(source), source.links))
    for edits in (markdown.remove_tags, markdown.decode_entities, markdown.remove_marks):
        source = source.apply_edits(skip_links(edits(source.text), source.links))
    return source


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["written"])
def test_markdown_file_equals_streamed_markdown(case: dict[str, str]) -> None:
    assert spoken(case["written"]) == case["spoken"]
    document = READERS[".md"](case["written"].encode(), Path("a.md"))
    assert spoken(document.text) == case["spoken"]
