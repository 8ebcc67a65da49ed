"""Files of a site in pieces that are named by their content, so that equal ones are loaded and kept once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

__all__ = ["FOLDER", "INDEX", "PIECE", "write_pieces"]

FOLDER = "pieces"
"""Where a site has its pieces, each under the sha256 of its content."""
INDEX = "pieces.json"
"""Which pieces the files beside it are made of, read by `kokoro_tvm/web/runtime/pieces.js`."""
PIECE = 4 << 20
"""Bytes of a piece; the last one of a file has what remains."""

_SCHEMA = 1


def write_pieces(files: Sequence[Path], site: Path, index: Path) -> None:
    """Write `files` as pieces below `site`, and the list of them as `index`."""
    folder = site / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    listed = {file.name: _cut(file, folder) for file in files}
    text = json.dumps({"schema": _SCHEMA, "files": listed}, separators=(",", ":"))
    index.write_text(text, encoding="utf-8")


def _cut(file: Path, folder: Path) -> dict[str, object]:
    """What the list has of a file: the sha256 of the whole, sha256 and size of its pieces in order."""
    whole = hashlib.sha256()
    pieces: list[tuple[str, int]] = []
    with file.open("rb") as content:
        while piece := content.read(PIECE):
            whole.update(piece)
            digest = hashlib.sha256(piece).hexdigest()
            pieces.append((digest, len(piece)))
            (folder / digest).write_bytes(piece)
    return {"sha256": whole.hexdigest(), "pieces": pieces}
