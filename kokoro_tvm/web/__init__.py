"""Where the JavaScript of the project is: `kokoro_tvm/web/`."""

from __future__ import annotations

from pathlib import Path

__all__ = ["OFFLINE", "WEB", "page_files"]

WEB = Path(__file__).parent
OFFLINE = WEB / "offline"
"""What a page has besides where no server computes: it is kept, and can be installed."""

_SUFFIXES = frozenset({".html", ".js", ".css", ".svg"})


def page_files() -> list[Path]:
    """What a browser may load, below `WEB`, in order."""
    files = sorted(path for path in WEB.rglob("*") if path.suffix in _SUFFIXES)
    return [path for path in files if path.parent != OFFLINE]
