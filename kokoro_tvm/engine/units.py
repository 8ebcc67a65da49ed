"""Times as people read them; sizes are `rich.filesize.decimal`'s."""

from __future__ import annotations

__all__ = ["shown_seconds"]


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
