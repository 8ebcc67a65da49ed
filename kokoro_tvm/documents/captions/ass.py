"""Advanced SubStation Alpha with karaoke: words light up as they are spoken."""

from __future__ import annotations

from collections.abc import Sequence

from kokoro_tvm.documents.captions.clock import clock
from kokoro_tvm.documents.captions.lines import Cue, cues
from kokoro_tvm.runtime.speech.words import TimedWord

__all__ = ["write"]

_HEAD = """[Script Info]
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
_ESCAPED = str.maketrans({"\\": "＼", "{": "｛", "}": "｝", "\n": " "})  # they have no escapes in ASS


def write(timeline: Sequence[TimedWord], seconds: float) -> str:
    """Captions as ASS, with `\\k` tags in hundredths of a second from word to word."""
    del seconds
    return _HEAD + "".join(
        f"Dialogue: 0,{_clock(cue.start)},{_clock(cue.end)},Default,,0,0,0,,{_karaoke(cue)}\n"
        for cue in cues(timeline)
    )


def _karaoke(cue: Cue) -> str:
    words = [word for line in cue.lines for word in line]
    first_of_line = {id(line[0]) for line in cue.lines[1:]}
    # From start to start, so that what is rounded does not add up.
    begin = round(cue.start * 100)
    starts = [*(round(word.start * 100) - begin for word in words[1:]), round(cue.end * 100) - begin]
    written, reached = "", 0
    for place, (word, upto) in enumerate(zip(words, starts, strict=True)):
        if id(word) in first_of_line:
            written += "\\N"
        elif place and not word.joined:
            written += " "
        written += f"{{\\k{upto - reached}}}{word.text.translate(_ESCAPED)}"
        reached = upto
    return written


def _clock(seconds: float) -> str:
    return clock(seconds, ".", 2).removeprefix("0")
