"""JSON: words, marks and phonemes with their times, and the cues."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kokoro_tvm.documents.captions.lines import cues
from kokoro_tvm.runtime.speech.words import TimedPhoneme, TimedWord

__all__ = ["write"]


def write(timeline: Sequence[TimedWord], seconds: float) -> str:
    """Captions as JSON: seconds, samples, and characters of the source for every word."""
    node = {
        "duration": round(seconds, 6),
        "cues": [
            {"text": c.text, "start": round(c.start, 6), "end": round(c.end, 6)} for c in cues(timeline)
        ],
        "words": [
            {"text": word.text, "source": list(word.source), "spoken": word.spoken}
            | _times(word)
            | {"phonemes": [{"symbol": phoneme.symbol} | _times(phoneme) for phoneme in word.phonemes]}
            for word in timeline
        ],
    }
    return json.dumps(node, indent=1, ensure_ascii=False) + "\n"


def _times(thing: TimedWord | TimedPhoneme) -> dict[str, Any]:
    return {
        "start": round(thing.start, 6),
        "end": round(thing.end, 6),
        "samples": [thing.start_sample, thing.end_sample],
    }
