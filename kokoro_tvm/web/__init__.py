"""The page and the JavaScript of the project, below `WEB`."""

from __future__ import annotations

from pathlib import Path

__all__ = ["OFFLINE", "WEB", "page_files"]

WEB = Path(__file__).parent
OFFLINE = WEB / "offline"
"""More files of a page without a server: the service worker and the manifest of the installable page."""

_SUFFIXES = frozenset({".html", ".js", ".css", ".svg"})


def page_files() -> list[Path]:
    """List the files below `WEB` that a browser may load, in order."""
    files = sorted(path for path in WEB.rglob("*") if path.suffix in _SUFFIXES)
    return [path for path in files if path.parent != OFFLINE]
