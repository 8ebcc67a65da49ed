"""Caption files: one function per format."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeAlias

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.documents.captions.lines import Cue, split_into_cues
from kokoro_tvm.runtime.speech.words import TimedPhoneme, TimedWord

__all__ = ["CAPTIONS", "caption_format", "format_time", "write_captions"]

_Interval: TypeAlias = tuple[float, float, str]

_ASS_HEAD = """[Script Info]
ScriptType: v4.00+
WrapStyle: 2
PlayResX: 1280
PlayResY: 720

[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, \
Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, \
MarginR, MarginV, Encoding
Style: Default,Arial,48,&H0000FFFF,&H00FFFFFF,&H00000000,&H80000000,0,0,0,0,100,100,0,0,1,2,1,2,40,40,40,1

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
"""
_ASS_ESCAPED = str.maketrans({"\\": "＼", "{": "｛", "}": "｝", "\n": " "})  # they have no escapes in ASS


def caption_format(path: str | PurePath) -> str:
    """Return the suffix of a file's name; raises InputError unless it is one of CAPTIONS."""
    suffix = PurePath(path).suffix.lower()
    if suffix not in CAPTIONS:
        raise InputError(f"{path}: captions are written as {', '.join(sorted(CAPTIONS))}; name it so.")
    return suffix


def write_captions(path: str | PurePath, timeline: Sequence[TimedWord], seconds: float) -> str:
    """Return captions in the format of a file's name.

    Args:
        path: of the file, which is not written.
        timeline: words and marks, such as `Speech.timeline`.
        seconds: length of the speech.

    Raises:
        InputError: the suffix is not one of CAPTIONS.
    """
    return CAPTIONS[caption_format(path)](timeline, seconds)


def format_time(seconds: float, point: str, digits: int = 3) -> str:
    """Format seconds as `HH:MM:SS.mmm`, with the given decimal point; hours may exceed 99."""
    units = 10**digits
    total = round(seconds * units)
    whole, fraction = divmod(total, units)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}{point}{fraction:0{digits}}"


def _srt(timeline: Sequence[TimedWord], seconds: float) -> str:
    blocks = [
        f"{number}\n{format_time(cue.start, ',')} --> {format_time(cue.end, ',')}\n{cue.text}\n"
        for number, cue in enumerate(split_into_cues(timeline), 1)
    ]
    return "\n".join(blocks)


def _webvtt(timeline: Sequence[TimedWord], seconds: float) -> str:
    # With the time of every word, which browsers highlight with `::cue(:past)`.
    # Source: W3C, WebVTT: The Web Video Text Tracks Format.
    blocks = [
        f"{format_time(cue.start, '.')} --> {format_time(cue.end, '.')}\n{_webvtt_text(cue)}\n"
        for cue in split_into_cues(timeline)
    ]
    return "\n".join(["WEBVTT\n", *blocks])


def _webvtt_text(cue: Cue) -> str:
    """Write a timestamp, which has to lie inside the cue, before every word but the first."""
    lines = []
    for line in cue.lines:
        text = ""
        for place, word in enumerate(line):
            stamp = f"<{format_time(word.start, '.')}>" if cue.start < word.start < cue.end else ""
            space = " " if place and not word.joined else ""
            text += space + stamp + html.escape(word.text, quote=False)
        lines.append(text)
    return "\n".join(lines)


def _json(timeline: Sequence[TimedWord], seconds: float) -> str:
    node = {
        "duration": round(seconds, 6),
        "cues": [
            {"text": c.text, "start": round(c.start, 6), "end": round(c.end, 6)}
            for c in split_into_cues(timeline)
        ],
        "words": [
            {"text": word.text, "source": list(word.source), "spoken": word.spoken}
            | _times(word)
            | {"phonemes": [{"symbol": phoneme.symbol} | _times(phoneme) for phoneme in word.phonemes]}
            for word in timeline
        ],
    }
    return json.dumps(node, indent=1, ensure_ascii=False) + "\n"


def _times(item: TimedWord | TimedPhoneme) -> dict[str, Any]:
    return {
        "start": round(item.start, 6),
        "end": round(item.end, 6),
        "samples": [item.start_sample, item.end_sample],
    }


def _ass(timeline: Sequence[TimedWord], seconds: float) -> str:
    """Write Advanced SubStation Alpha with karaoke: tags with times in 1/100 s highlight words."""
    return _ASS_HEAD + "".join(
        f"Dialogue: 0,{_ass_time(cue.start)},{_ass_time(cue.end)},Default,,0,0,0,,{_karaoke(cue)}\n"
        for cue in split_into_cues(timeline)
    )


def _karaoke(cue: Cue) -> str:
    words = [word for line in cue.lines for word in line]
    first_of_line = {id(line[0]) for line in cue.lines[1:]}
    # From start to start, so that rounding errors do not add up.
    begin = round(cue.start * 100)
    starts = [*(round(word.start * 100) - begin for word in words[1:]), round(cue.end * 100) - begin]
    text, reached = "", 0
    for place, (word, upto) in enumerate(zip(words, starts, strict=True)):
        if id(word) in first_of_line:
            text += "\\N"
        elif place and not word.joined:
            text += " "
        text += f"{{\\k{upto - reached}}}{word.text.translate(_ASS_ESCAPED)}"
        reached = upto
    return text


def _ass_time(seconds: float) -> str:
    return format_time(seconds, ".", 2).removeprefix("0")


def _textgrid(timeline: Sequence[TimedWord], seconds: float) -> str:
    """Write tiers of words and phonemes as a long TextGrid of Praat."""
    words = [word for word in timeline if word.spoken]
    tiers = {
        "words": _fill_gaps(((word, word.text) for word in words), seconds),
        "phonemes": _fill_gaps(((p, p.symbol) for word in words for p in word.phonemes), seconds),
    }
    lines = ['File type = "ooTextFile"', 'Object class = "TextGrid"', ""]
    lines += ["xmin = 0", f"xmax = {seconds:.6f}", "tiers? <exists>", f"size = {len(tiers)}", "item []:"]
    for number, (name, intervals) in enumerate(tiers.items(), 1):
        lines += [f"    item [{number}]:", '        class = "IntervalTier"', f'        name = "{name}"']
        lines += [
            "        xmin = 0",
            f"        xmax = {seconds:.6f}",
            f"        intervals: size = {len(intervals)}",
        ]
        for place, (start, end, text) in enumerate(intervals, 1):
            lines += [f"        intervals [{place}]:", f"            xmin = {start:.6f}"]
            lines += [f"            xmax = {end:.6f}", f'            text = "{_escape_quotes(text)}"']
    return "\n".join(lines) + "\n"


def _fill_gaps(items: Iterable[tuple[TimedWord | TimedPhoneme, str]], seconds: float) -> list[_Interval]:
    """Return intervals without gaps, as a tier needs them; items without duration are left out."""
    intervals: list[_Interval] = []
    reached = 0.0
    for item, text in items:
        if item.end <= item.start:
            continue
        if item.start > reached:
            intervals.append((reached, item.start, ""))
        intervals.append((item.start, item.end, text))
        reached = item.end
    if reached < seconds or not intervals:
        intervals.append((reached, seconds, ""))
    return intervals


def _escape_quotes(text: str) -> str:
    return " ".join(text.split()).replace('"', '""')


CAPTIONS: Mapping[str, Callable[[Sequence[TimedWord], float], str]] = {
    ".srt": _srt,
    ".vtt": _webvtt,
    ".json": _json,
    ".ass": _ass,
    ".textgrid": _textgrid,
}
"""Suffix of a file -> function from a timeline and the length of the speech in seconds to the text."""
