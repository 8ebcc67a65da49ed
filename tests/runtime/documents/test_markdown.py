"""Equality of Markdown in a stream, in a file and in JavaScript (tests/web/markdown.test.mjs)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kokoro_tvm.runtime.documents.readers import READERS
from kokoro_tvm.runtime.text.frontend.normalization import markdown
from kokoro_tvm.runtime.text.frontend.paragraphs import paragraphs
from kokoro_tvm.runtime.text.frontend.source import SourceText, free
from kokoro_tvm.runtime.text.markup import Known, parse
from kokoro_tvm.runtime.text.markup.passages import marked_sections

CASES = json.loads(Path(__file__).with_name("markdown_cases.json").read_text(encoding="utf-8"))


def spoken(text: str) -> str:
    """Return a text without markup, on one line."""
    known = Known(frozenset("ˈaɔbcdefhijklmnopqrstuvwxyzʃɹIO"), lambda voice: "a")
    parts = []
    for section in marked_sections(parse(text, known)):
        for part in paragraphs(section.source):
            parts += without_marks(part).text.split()
    return " ".join(parts)


def without_marks(source: SourceText) -> SourceText:
    source = source.edited(free(markdown.pictures(source), source.links))
    for edits in (markdown.tags, markdown.entities, markdown.marks):
        source = source.edited(free(edits(source.text), source.links))
    return source


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["written"])
def test_markdown_file_equals_streamed_markdown(case: dict[str, str]) -> None:
    assert spoken(case["written"]) == case["spoken"]
    document = READERS[".md"](case["written"].encode(), Path("a.md"))
    assert spoken(document.text) == case["spoken"]
