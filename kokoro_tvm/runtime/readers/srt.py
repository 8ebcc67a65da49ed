"""SubRip subtitles: a slot for each cue."""

from __future__ import annotations

import re
from pathlib import Path

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.readers.document import Chapter, Document, Slot, decoded

__all__ = ["read"]

_TIME = r"(\d{1,3}):(\d{1,2}):(\d{1,2})[,.](\d{1,3})"
_TIMES = re.compile(rf"^\s*{_TIME}\s*-->\s*{_TIME}")
_TAGS = re.compile(r"</?[A-Za-z][^<>]*>|\{\\[^{}]*\}")


def read(data: bytes, path: Path) -> Document:
    """The cues in the order of their times; formatting is left out, and so are cues without text.

    Raises InputError for a cue that ends before it starts, and where there is none.
    """
    slots = []
    for block in re.split(r"\n\s*\n", decoded(data, path).strip()):
        lines = block.split("\n")
        place = next((place for place, line in enumerate(lines[:2]) if "-->" in line), None)
        if place is None:
            if block.strip():
                raise InputError(f"{path} is not SRT: '{lines[0][:40]}' has no line with times (-->).")
            continue
        found = _TIMES.match(lines[place])
        if found is None:
            raise InputError(f"{path} is not SRT: '{lines[place][:60]}' are no times such as 00:00:01,000.")
        start, end = _seconds(found.groups()[:4]), _seconds(found.groups()[4:])
        if end <= start:
            raise InputError(f"{path}: the cue '{lines[place][:60]}' ends before it starts.")
        text = " ".join(_TAGS.sub("", " ".join(lines[place + 1 :])).split())
        if any(char.isalnum() for char in text):
            slots.append(Slot(start, end, text))
    slots.sort(key=lambda slot: slot.start)
    chapter = Chapter("", "\n\n".join(slot.text for slot in slots))
    return Document(path.stem, (chapter,), tuple(slots))


def _seconds(parts: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = (part or "0" for part in parts)
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + int(fraction.ljust(3, "0")) / 1000
