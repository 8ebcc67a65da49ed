"""Pictures of signals as PNG and SVG text, so that a page needs no other file."""

# Pillow would write PNGs of the same size in the same time, but nothing else needs its 22 MB.

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.validation.measure.metrics import magnitude_spectrum

Array = NDArray[Any]

FLOOR_DB = -90.0  # black, relative to the loudest bin of the reference

_WIDEST, _BINS_A_ROW = 900, 3
# From dark to bright with growing lightness, so that the picture is readable without colours.
_COLORS = (
    (0, 0, 8),
    (52, 12, 94),
    (120, 28, 109),
    (190, 54, 85),
    (240, 112, 32),
    (252, 190, 50),
    (252, 255, 200),
)


def spectrogram(audio: Array, loudest: float) -> bytes:
    """Draw a spectrogram as PNG: time to the right, 0 to 12 kHz upwards, level as brightness.

    Args:
        audio: (samples,) at 24 kHz.
        loudest: The magnitude of full brightness.
    """
    magnitude = magnitude_spectrum(audio)
    columns = min(_WIDEST, len(magnitude))
    edges = np.linspace(0, len(magnitude), columns + 1).astype(int)[:-1]
    pooled = np.maximum.reduceat(magnitude, edges, axis=0)[:, :-1]
    rows = pooled[:, : pooled.shape[1] // _BINS_A_ROW * _BINS_A_ROW]
    rows = rows.reshape(columns, -1, _BINS_A_ROW).max(axis=2)
    decibels = 20.0 * np.log10(np.maximum(rows / (loudest or 1.0), 1e-12))
    levels = np.clip(1.0 - decibels / FLOOR_DB, 0.0, 1.0)
    return palette_png(np.rint(levels * 63).astype(np.uint8).T[::-1], _interpolate_palette(64))


def css_gradient() -> str:
    """Return the colours of a spectrogram as stops of a CSS gradient, from quiet to loud."""
    return ", ".join("#{:02x}{:02x}{:02x}".format(*color) for color in _COLORS)


def palette_png(indices: NDArray[np.uint8], palette: NDArray[np.uint8]) -> bytes:
    """Encode (rows, columns) indices into a (colours, 3) palette as PNG (ISO/IEC 15948, colour type 3)."""
    height, width = indices.shape
    # Every row begins with the number of its filter: 0, none.
    lines = np.zeros((height, width + 1), np.uint8)
    lines[:, 1:] = indices
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"PLTE", palette.tobytes()), (b"IDAT", zlib.compress(lines.tobytes(), 9)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_png_chunk(kind, data) for kind, data in (*chunks, (b"IEND", b"")))


def envelope(audio: Array, columns: int, peak: float, height: int) -> str:
    """Return the points of an SVG polygon around (samples,) audio.

    The polygon has the highest and the lowest sample of every column. `peak` is half of `height`.
    """
    edges = np.linspace(0, audio.size, min(columns, audio.size) + 1).astype(int)[:-1]
    scale = columns / len(edges)
    high, low = (f.reduceat(audio, edges) / (peak or 1.0) for f in (np.maximum, np.minimum))
    middle = height / 2
    above = [f"{i * scale:.0f},{middle - h * middle:.1f}" for i, h in enumerate(high)]
    below = [f"{i * scale:.0f},{middle - v * middle:.1f}" for i, v in reversed(list(enumerate(low)))]
    return " ".join(above + below)


def curve(values: Array, columns: int, top: float, height: int) -> list[str]:
    """Return (steps,) values from 0 to `top` as SVG polylines, one for each run of values above zero."""
    places = np.linspace(0, columns, values.size)
    runs: list[list[str]] = [[]]
    for x, value in zip(places, values, strict=True):
        if value > 0:
            runs[-1].append(f"{x:.1f},{height * (1 - min(value / (top or 1.0), 1.0)):.1f}")
        elif runs[-1]:
            runs.append([])
    return [" ".join(run) for run in runs if run]


def data_uri(kind: str, content: bytes) -> str:
    """Return a URI of the content: `data:image/png;base64,...`."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _interpolate_palette(colors: int) -> NDArray[np.uint8]:
    """Return (colors, 3) interpolated between _COLORS."""
    places = np.linspace(0, len(_COLORS) - 1, colors)
    anchors = np.array(_COLORS, float)
    mixed: Sequence[Any] = [np.interp(places, range(len(anchors)), anchors[:, i]) for i in range(3)]
    return np.rint(np.stack(mixed, axis=1)).astype(np.uint8)


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    """Encode a chunk of a PNG file."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
