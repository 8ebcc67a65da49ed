"""SubRip subtitles: a slot for each cue."""

from __future__ import annotations

import re
from pathlib import Path

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.documents.readers.document import Chapter, Document, Slot, decode_text
from kokoro_tvm.runtime.notices import quoted

_TIME = r"(\d{1,3}):(\d{1,2}):(\d{1,2})[,.](\d{1,3})"
_TIMES = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}")
_ALMOST_TIMES = re.compile(rf"-->|^\s*{_TIME}\s*[-–—=>→]{{1,4}}\s*{_TIME}\s*$")
_TAGS = re.compile(r"</?[A-Za-z][^<>]*>|\{\\[^{}]*\}")


def read(data: bytes, path: Path) -> Document:
    """Read the cues, sorted by start; formatting and cues without text are left out.

    A cue begins with its times, and with its number in the line before; no blank line is needed. A cue
    without times, or with an end before its start, is left out with a note.

    Raises:
        InputError: there is no cue.
    """
    cues, notes = _parse_cues(decode_text(data, path).split("\n"))
    if not cues:
        raise InputError(f"{path} is not SRT: {notes[0] if notes else 'it is empty'}.")
    slots = []
    for start, end, lines in cues:
        text = " ".join(_TAGS.sub("", " ".join(lines)).split())
        if any(char.isalnum() for char in text):
            slots.append(Slot(start, end, text))
    slots.sort(key=lambda slot: slot.start)
    chapter = Chapter("", "\n\n".join(slot.text for slot in slots))
    return Document(path.stem, (chapter,), tuple(slots), tuple(f"Left out: {note}." for note in notes))


def _parse_cues(lines: list[str]) -> tuple[list[tuple[float, float, list[str]]], list[str]]:
    """Return (start, end, lines) per cue in the order of the file, and the errors of the others."""
    cues: list[tuple[float, float, list[str]]] = []
    notes: list[str] = []
    text: list[str] | None = None  # of the current cue
    number = 0  # of the current cue
    for place, line in enumerate(lines):
        if _ALMOST_TIMES.search(line):
            before = lines[place - 1].strip() if place else ""
            has_number = before.isdecimal() and (int(before[:9]) == number + 1 or _is_blank(lines, place - 2))
            number = int(before[:9]) if has_number else number
            if has_number and text:
                text.pop()
            times = _TIMES.match(line)
            start, end = (_seconds(times.groups()[:4]), _seconds(times.groups()[4:])) if times else (0.0, 0.0)
            text = []
            if times is None:
                notes.append(f"line {place + 1}, {quoted(line)}, are no times such as 00:00:01,000")
            elif end <= start:
                notes.append(f"the cue in line {place + 1}, {quoted(line)}, ends before it starts")
            else:
                cues.append((start, end, text))
        elif line.strip() and text is not None:
            text.append(line)
        elif line.strip() and not (
            line.strip().isdecimal() and _ALMOST_TIMES.search("".join(lines[place + 1 : place + 2]))
        ):
            notes.append(f"line {place + 1}, {quoted(line)}, has no line with times (-->)")
    return cues, notes


def _is_blank(lines: list[str], place: int) -> bool:
    return place < 0 or not lines[place].strip()


def _seconds(parts: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = (part or "0" for part in parts)
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + int(fraction.ljust(3, "0")) / 1000
