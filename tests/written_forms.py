"""Written forms and the words they are read as, from `written_forms.yaml`, which people write."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from yaml import safe_load

WRITTEN_FORMS = Path(__file__).parent / "runtime" / "text" / "frontend" / "written_forms.yaml"


@dataclass(frozen=True)
class WrittenForm:
    """What is written, and the words it is read as.

    misaki: the phonemes that misaki 0.9.4 with spaCy's tagger has for it, "" where they are those of the
    words; british: whether it is read so in British English only.
    """

    category: str
    written: str
    spoken: str
    misaki: str = ""
    british: bool = False


@cache
def written_forms() -> tuple[WrittenForm, ...]:
    """All of them, in the order of the file."""
    data = safe_load(WRITTEN_FORMS.read_text(encoding="utf-8"))
    return tuple(WrittenForm(category, **row) for category, rows in data.items() for row in rows)
