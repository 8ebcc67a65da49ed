"""Times of day, and what else has a colon between figures."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kokoro_tvm.runtime.frontend.normalization.rules import rewrite
from kokoro_tvm.runtime.frontend.source import Edit

__all__ = ["clocks"]

_CLOCK = re.compile(
    r"(?<![\w.:])(?:(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:\.\d{1,9})?)?"
    r"(?P<zulu>Z\b)?(?P<half>\s?[aApP](?:\.[mM]\b|[mM]\b))?"
    r"(?:(?P<from>\s?[–-]\s?(?=\d{1,2}:\d\d(?!\d)))|(?![\w:]))"
    r"|(?P<ratio>(?P<left>\d{1,4}):(?P<right>\d{1,4})(?![\w:]|\.\d))"
    r"|(?P<whole>1[0-2]|0?[1-9])(?P<noon>\s?(?:am|AM|pm|PM)\b)(?P<until>\s?[–-]\s?(?=\d))?"
    r"|(?P<first>1[0-2]|[1-9])(?P<dash>[–-])(?=(?:1[0-2]|[1-9])\s?(?:am|AM|pm|PM)\b))"
)
_VERSE = re.compile(r"[A-Z][a-z]+\.? $")


def clocks(text: str) -> Iterator[Edit]:
    """14:05 is 14 oh 5, 10:00 is 10 o'clock, 7pm is 7 p.m., John 3:6 is John 3 6, 2:1 is 2 to 1."""
    return rewrite(_CLOCK, text, lambda match: _spoken(text, match))


def _spoken(text: str, match: re.Match[str]) -> str | None:
    if match["ratio"]:
        verse = _VERSE.search(text, max(0, match.start() - 20), match.start())
        return f"{match['left']} {'' if verse else 'to '}{match['right']}"
    if match["dash"]:
        return f"{match['first']} to "
    if match["noon"]:
        return f"{int(match['whole'])}{_half(match['noon'])}" + (" to " if match["until"] else "")
    spoken = _clock(
        int(match["hour"]), match["minute"], match["second"], bool(match["half"]), text, match.end()
    )
    return (
        spoken + (" UTC" if match["zulu"] else "") + _half(match["half"]) + (" to " if match["from"] else "")
    )


def _clock(hour: int, minute: str, second: str | None, half: bool, text: str, end: int) -> str:
    if second is not None:
        return f"{hour} {_two(minute)} and {int(second)} second{'' if int(second) == 1 else 's'}"
    if minute != "00":
        return f"{hour} {_two(minute)}"
    if half or text.startswith((" a.m", " p.m"), end):
        return str(hour)
    return f"{hour} o'clock" if 1 <= hour <= 12 else f"{hour} hundred hours"


def _two(figures: str) -> str:
    return f"oh {figures[1]}" if figures[0] == "0" else figures


def _half(written: str | None) -> str:
    """Its last point may be that of the sentence, and stays outside."""
    return f" {written.strip()[0].lower()}.m" if written else ""
