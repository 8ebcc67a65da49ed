"""Where the JavaScript of the project is: `kokoro_tvm/web/`."""

from __future__ import annotations

from pathlib import Path

__all__ = ["WEB", "page_files"]

WEB = Path(__file__).parent / "web"

_SUFFIXES = frozenset({".html", ".js", ".css", ".svg"})


def page_files() -> list[Path]:
    """What a browser may load, below `WEB`, in order."""
    return sorted(path for path in WEB.rglob("*") if path.suffix in _SUFFIXES)
