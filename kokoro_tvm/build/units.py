"""Sizes and times as people read them."""

from __future__ import annotations

__all__ = ["shown_bytes", "shown_seconds"]


def shown_bytes(count: float) -> str:
    """In powers of ten: 671 B, 156 kB, 1.7 MB, 402 MB."""
    for unit in ("B", "kB", "MB"):
        if count < 999.5:
            return f"{count:.1f} {unit}" if unit != "B" and count < 9.95 else f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def shown_seconds(seconds: float) -> str:
    """0.4 s, 32 s, 3 min 50 s, 1 h 02 min."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
