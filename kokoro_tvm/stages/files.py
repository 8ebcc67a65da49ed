"""How stages read and write their small files, and their logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["log", "read_json", "write", "write_json"]


def log(line: str) -> None:
    """Prints a line to the stage's log at once."""
    print(line, flush=True)


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, value: Any) -> None:
    write(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False))


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
