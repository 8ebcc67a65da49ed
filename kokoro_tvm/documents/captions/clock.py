"""Times as captions write them."""

from __future__ import annotations

__all__ = ["clock"]


def clock(seconds: float, point: str, digits: int = 3) -> str:
    """`HH:MM:SS.mmm` with another decimal `point`; hours go on beyond 99."""
    units = 10**digits
    total = round(seconds * units)
    whole, fraction = divmod(total, units)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}{point}{fraction:0{digits}}"
