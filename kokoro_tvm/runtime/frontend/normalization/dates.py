"""Dates: of ISO 8601, with slashes and points, months by name and in short."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kokoro_tvm.runtime.frontend.normalization.rules import MONTHS, any_of, ordinal, rewrite
from kokoro_tvm.runtime.frontend.source import Edit

__all__ = ["american", "british"]

_SHORT = {month[:3]: month for month in MONTHS if len(month) > 4} | {"Sept": "September"}
_MONTH = rf"(?:{any_of(MONTHS)}|{any_of(_SHORT)}\b\.?)"
_DAYS = {
    "Mon": "Monday", "Tue": "Tuesday", "Tues": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday",
    "Thur": "Thursday", "Thurs": "Thursday", "Fri": "Friday", "Sat": "Saturday", "Sun": "Sunday",
}  # fmt: skip
_DATE = re.compile(
    r"(?<![\w./:–-])(?:"
    r"(?P<iso>(?P<y1>\d{4})-(?P<m1>\d\d)-(?P<d1>\d\d))(?:(?P<time>T)(?=\d\d:\d\d)|(?![\w-]))"
    r"|(?P<a2>\d{1,2})/(?P<b2>\d{1,2})/(?P<y2>\d{4}|\d\d)(?![\w/-])"
    r"|(?P<d3>\d{1,2})\.(?P<m3>\d{1,2})\.(?P<y3>\d{4})(?![\w-]|\.\d)"
    rf"|(?P<the>[Tt]he )?(?P<d4>\d{{1,2}}) (?P<m4>{_MONTH})(?!\w)"
    rf"|(?P<m5>{_MONTH}) (?P<d5>\d{{1,2}})(?:\s?[–-]\s?(?P<to>\d{{1,2}}))?(?![\w:/–-]|[.,]\d|%"
    r"| (?:years?|months?|weeks?|days?|hours?|minutes?|people|men|women|percent)\b)"
    rf"|(?P<m6>{any_of(_SHORT)}\b\.?)(?= \d{{1,2}}(?:st|nd|rd|th)\b| \d{{4}}\b)"
    rf"|(?P<day>{any_of(_DAYS)}\b\.?)(?=,? (?:{_MONTH}|\d))"
    rf"|(?P<from>{any_of(_DAYS)})(?:-|–)(?P<until>{any_of(_DAYS)})\b)"
)


def american(text: str) -> Iterator[Edit]:
    """3/4/2024 is March 4th."""
    return rewrite(_DATE, text, lambda match: _spoken(match, british=False))


def british(text: str) -> Iterator[Edit]:
    """3/4/2024 is the 3rd of April."""
    return rewrite(_DATE, text, lambda match: _spoken(match, british=True))


def _spoken(match: re.Match[str], british: bool) -> str | None:
    if match["day"]:
        return _DAYS[match["day"].rstrip(".")]
    if match["from"]:
        return f"{_DAYS[match['from']]} to {_DAYS[match['until']]}"
    if match["m6"]:
        return _month(match["m6"])
    if match["d4"]:
        return _by_day(match)
    if match["d5"]:
        return _by_month(match)
    if match["iso"]:
        year, month, day = match["y1"], int(match["m1"]), int(match["d1"])
    elif match["d3"]:
        year, month, day = match["y3"], int(match["m3"]), int(match["d3"])
    else:
        year, first, second = match["y2"], int(match["a2"]), int(match["b2"])
        month, day = (second, first) if (british and second <= 12) or first > 12 else (first, second)
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    name = MONTHS[month - 1]
    spoken = f"the {ordinal(day)} of {name}, {year}" if british else f"{name} {ordinal(day)}, {year}"
    return spoken + (" at " if match["time"] else "")


def _by_day(match: re.Match[str]) -> str | None:
    """15 March: the 15th of March."""
    day = int(match["d4"])
    if not 1 <= day <= 31:
        return None
    return f"{match['the'] or 'the '}{ordinal(day)} of {_month(match['m4'])}"


def _by_month(match: re.Match[str]) -> str | None:
    """March 15: March 15th."""
    day, until = int(match["d5"]), int(match["to"] or 1)
    if not (1 <= day <= 31 and 1 <= until <= 31):
        return None
    last = f" to {ordinal(until)}" if match["to"] else ""
    return f"{_month(match['m5'])} {ordinal(day)}{last}"


def _month(written: str) -> str:
    written = written.rstrip(".")
    return _SHORT.get(written, written)
