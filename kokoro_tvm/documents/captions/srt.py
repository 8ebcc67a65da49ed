"""SubRip: numbered cues with times to a millisecond."""

from __future__ import annotations

from collections.abc import Sequence

from kokoro_tvm.documents.captions.clock import clock
from kokoro_tvm.documents.captions.lines import cues
from kokoro_tvm.runtime.speech.words import TimedWord

__all__ = ["write"]


def write(timeline: Sequence[TimedWord], seconds: float) -> str:
    """Captions as SRT. Times are rounded to milliseconds."""
    del seconds
    blocks = [
        f"{number}\n{clock(cue.start, ',')} --> {clock(cue.end, ',')}\n{cue.text}\n"
        for number, cue in enumerate(cues(timeline), 1)
    ]
    return "\n".join(blocks)
