"""WebVTT: cues with the time of every word, which browsers highlight with `::cue(:past)`."""

from __future__ import annotations

import html
from collections.abc import Sequence

from kokoro_tvm.documents.captions.clock import clock
from kokoro_tvm.documents.captions.lines import Cue, cues
from kokoro_tvm.runtime.speech.words import TimedWord

__all__ = ["write"]


def write(timeline: Sequence[TimedWord], seconds: float) -> str:
    """Captions as WebVTT. Source: W3C, WebVTT: The Web Video Text Tracks Format."""
    del seconds
    blocks = [
        f"{clock(cue.start, '.')} --> {clock(cue.end, '.')}\n{_payload(cue)}\n" for cue in cues(timeline)
    ]
    return "\n".join(["WEBVTT\n", *blocks])


def _payload(cue: Cue) -> str:
    """The lines with a timestamp before every word but the first; it has to lie inside the cue."""
    lines = []
    for line in cue.lines:
        written = ""
        for place, word in enumerate(line):
            stamp = f"<{clock(word.start, '.')}>" if cue.start < word.start < cue.end else ""
            space = " " if place and not word.joined else ""
            written += space + stamp + html.escape(word.text, quote=False)
        lines.append(written)
    return "\n".join(lines)
