"""Files of a site in pieces that are named by their content, so that equal ones are loaded and kept once.

A piece is written compressed: its bytes by planes (with a width of 4, the first byte of every four, then the
second, and so on), and these by zlib. Signs and exponents of numbers are alike, their last bits are not: in
planes of their own, Huffman's code alone makes float32 weights 0.84 and float16 weights 0.85 as large.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np

from kokoro_tvm.runtime.threads import usable_cores

__all__ = ["FOLDER", "INDEX", "PIECE", "write_pieces"]

FOLDER = "pieces"
"""Where a site has its pieces, each under the sha256 of its content."""
INDEX = "pieces.json"
"""Which pieces the files beside it are made of, read by `kokoro_tvm/web/runtime/pieces.js`."""
PIECE = 4 << 20
"""Bytes of a piece's content, at most."""

_SCHEMA = 2
_LEVEL = 6
_WIDTHS = (1, 2, 4)
_SAMPLE = 1 << 18  # bytes that decide about the width


def write_pieces(
    files: Sequence[Path], site: Path, index: Path, apart: Path, relaxed: str | None = None
) -> None:
    """Write `files` as pieces below `site`, and the list of them as `index`.

    It has, for each file, its sha256 and its pieces in order, each as [sha256, size, width, packed size].
    apart: the safetensors file whose tensors are pieces of their own, to be loaded when they are needed.
    relaxed: the address, from the list, of the folder of the bundle that engines with relaxed SIMD take.
    """
    folder = site / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(usable_cores()) as pool:
        listed = {file.name: _cut(file, folder, pool, file == apart) for file in files}
    text = json.dumps({"schema": _SCHEMA, "relaxed": relaxed, "files": listed}, separators=(",", ":"))
    index.write_text(text, encoding="utf-8")


def _cut(file: Path, folder: Path, pool: ThreadPoolExecutor, apart: bool) -> dict[str, object]:
    content = memoryview(file.read_bytes())
    starts = sorted({0, *_tensors(content)}) if apart else range(0, len(content), PIECE)
    parts = [content[start:end] for start, end in pairwise([*starts, len(content)])]
    pieces = list(pool.map(lambda part: _write(part, folder), parts))
    return {"sha256": hashlib.sha256(content).hexdigest(), "apart": apart, "pieces": pieces}


def _tensors(content: memoryview) -> list[int]:
    """Where the tensors of a safetensors file begin."""
    header = 8 + int.from_bytes(content[:8], "little")
    entries = json.loads(bytes(content[8:header]))
    return [header + each["data_offsets"][0] for name, each in entries.items() if name != "__metadata__"]


def _write(content: memoryview, folder: Path) -> tuple[str, int, int, int]:
    digest = hashlib.sha256(content).hexdigest()
    planes = {width: _planes(content, width) for width in _WIDTHS if len(content) % width == 0}
    sample = {each: found[:, : _SAMPLE // each] for each, found in planes.items()}
    width = min(sample, key=lambda each: len(_packed(sample[each].tobytes(), each)))
    packed = _packed(planes[width].tobytes(), width)
    (folder / digest).write_bytes(packed)
    return digest, len(content), width, len(packed)


def _planes(content: memoryview, width: int) -> np.ndarray:
    """(width, bytes / width), uint8."""
    return np.frombuffer(content, np.uint8).reshape(-1, width).T


def _packed(content: bytes, width: int) -> bytes:
    strategy = zlib.Z_DEFAULT_STRATEGY if width == 1 else zlib.Z_HUFFMAN_ONLY
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, strategy)
    return packer.compress(content) + packer.flush()
