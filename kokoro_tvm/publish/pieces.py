"""Writes the files of a site in pieces named by their content, so that equal pieces are loaded only once.

A piece is compressed: its bytes are split into planes (for a width of 4, the first byte of every four, then
the second, and so on), and zlib compresses the planes. Signs and exponents of numbers are similar, mantissas
are not. In planes, Huffman coding alone compresses float32 weights to 0.84 and float16 weights to 0.85.
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

FOLDER = "pieces"  # folder of the pieces, each named by the SHA-256 of its content
INDEX = "pieces.json"  # the pieces of each file beside it, for `kokoro_tvm/web/runtime/pieces.js`
PIECE = 4 << 20  # maximum size of a piece's content, bytes

_SCHEMA = 2
_LEVEL = 6
_WIDTHS = (1, 2, 4)
_SAMPLE = 1 << 18  # bytes that the width is chosen by


def write_pieces(
    files: Sequence[Path], site: Path, index: Path, apart: Path, relaxed: str | None = None
) -> None:
    """Write files as pieces, and their index.

    The index has the SHA-256 of each file, and its pieces in order as [sha256, size, width, packed size].

    Args:
        files: The files.
        site: Folder of the site.
        index: File of the index.
        apart: The safetensors file whose tensors are separate pieces, because each is loaded on demand.
        relaxed: Address, relative to the index, of the bundle's folder for browsers with relaxed SIMD.
    """
    folder = site / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(usable_cores()) as pool:
        listed = {file.name: _write_file(file, folder, pool, file == apart) for file in files}
    text = json.dumps({"schema": _SCHEMA, "relaxed": relaxed, "files": listed}, separators=(",", ":"))
    index.write_text(text, encoding="utf-8")


def _write_file(file: Path, folder: Path, pool: ThreadPoolExecutor, apart: bool) -> dict[str, object]:
    """Write the pieces of a file: one per tensor if `apart`, else of PIECE bytes.

    Return its entry of the index.
    """
    content = memoryview(file.read_bytes())
    starts = sorted({0, *_tensor_offsets(content)}) if apart else range(0, len(content), PIECE)
    parts = [content[start:end] for start, end in pairwise([*starts, len(content)])]
    pieces = list(pool.map(lambda part: _write_piece(part, folder), parts))
    return {"sha256": hashlib.sha256(content).hexdigest(), "apart": apart, "pieces": pieces}


def _tensor_offsets(content: memoryview) -> list[int]:
    """Return the offsets of the tensors of a safetensors file."""
    header = 8 + int.from_bytes(content[:8], "little")
    entries = json.loads(bytes(content[8:header]))
    return [header + entry["data_offsets"][0] for name, entry in entries.items() if name != "__metadata__"]


def _write_piece(content: memoryview, folder: Path) -> tuple[str, int, int, int]:
    """Write a piece, named by its SHA-256 and compressed; return its entry of the index."""
    digest = hashlib.sha256(content).hexdigest()
    planes = {width: _split_planes(content, width) for width in _WIDTHS if len(content) % width == 0}
    sample = {width: plane[:, : _SAMPLE // width].tobytes() for width, plane in planes.items()}
    width = min(sample, key=lambda width: len(_compress(sample[width], width)))
    packed = _compress(planes[width].tobytes(), width)
    (folder / digest).write_bytes(packed)
    return digest, len(content), width, len(packed)


def _split_planes(content: memoryview, width: int) -> np.ndarray:
    """Split bytes into planes of the first, second, ... byte of each word: (width, bytes / width), uint8."""
    return np.frombuffer(content, np.uint8).reshape(-1, width).T


def _compress(content: bytes, width: int) -> bytes:
    """Compress bytes with zlib, by Huffman codes alone if they are the planes of wider words."""
    strategy = zlib.Z_DEFAULT_STRATEGY if width == 1 else zlib.Z_HUFFMAN_ONLY
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, strategy)
    return packer.compress(content) + packer.flush()
