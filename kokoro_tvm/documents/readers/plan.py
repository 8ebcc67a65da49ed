"""Plans that `kokoro-tvm say --save-plan` wrote, edited or not."""

from __future__ import annotations

from pathlib import Path

from kokoro_tvm.documents.readers.document import Chapter, Document, decoded
from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.speech.plan import Plan

__all__ = ["read"]


def read(data: bytes, path: Path) -> Document:
    """A plan, and the words in it as its text."""
    try:
        plan = Plan.from_json(decoded(data, path))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return Document("", (Chapter("", " ".join(word.text for word in plan.words)),), plan=plan)
