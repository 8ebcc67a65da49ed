"""Praat TextGrid: tiers of words and phonemes that cover the whole speech."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kokoro_tvm.runtime.speech.words import TimedPhoneme, TimedWord

__all__ = ["write"]

_Interval = tuple[float, float, str]


def write(timeline: Sequence[TimedWord], seconds: float) -> str:
    """Words and phonemes as a long TextGrid; what is between them is empty."""
    words = [word for word in timeline if word.spoken]
    tiers = {
        "words": _filled(((word, word.text) for word in words), seconds),
        "phonemes": _filled(((p, p.symbol) for word in words for p in word.phonemes), seconds),
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
            lines += [f"            xmax = {end:.6f}", f'            text = "{_quoted(text)}"']
    return "\n".join(lines) + "\n"


def _filled(things: Iterable[tuple[TimedWord | TimedPhoneme, str]], seconds: float) -> list[_Interval]:
    """Intervals without gaps, as a tier needs them; what lasts no time is left out."""
    intervals: list[_Interval] = []
    reached = 0.0
    for thing, text in things:
        if thing.end <= thing.start:
            continue
        if thing.start > reached:
            intervals.append((reached, thing.start, ""))
        intervals.append((thing.start, thing.end, text))
        reached = thing.end
    if reached < seconds or not intervals:
        intervals.append((reached, seconds, ""))
    return intervals


def _quoted(text: str) -> str:
    return " ".join(text.split()).replace('"', '""')
