from __future__ import annotations

import struct
import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.validation.measure.metrics import magnitude_spectrum
from kokoro_tvm.validation.report.pictures import curve, envelope, palette_png, spectrogram


def pixels(png: bytes) -> np.ndarray:
    """Return the (rows, columns) indices of a PNG by `palette_png`, and verify its checksums."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, at = {}, 8
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        data = png[at + 8 : at + 8 + size]
        assert struct.unpack(">I", png[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + data)
        chunks[kind] = data
        at += 12 + size
    width, height, *form = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert form == [8, 3, 0, 0, 0]
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not rows[:, 0].any()
    return rows[:, 1:]


@given(st.integers(1, 9), st.integers(1, 9))
def test_png_has_the_indices(height: int, width: int) -> None:
    drawn = np.random.default_rng(height * width).integers(0, 4, (height, width)).astype(np.uint8)
    assert np.array_equal(pixels(palette_png(drawn, np.zeros((4, 3), np.uint8))), drawn)


def test_spectrogram_of_a_tone_is_a_line() -> None:
    """3 kHz is a quarter of the way up; 90 dB below the loudest bin is black."""
    tone = np.sin(2 * np.pi * 3000 * np.arange(24000) / 24000)
    drawn = pixels(spectrogram(tone, float(magnitude_spectrum(tone).max())))
    rows, columns = drawn.shape
    middle = drawn[:, columns // 2]
    assert int(middle.argmax()) == rows - 1 - round(rows / 4)
    assert middle.max() == 63 and middle[0] == middle[-1] == 0
    quiet = pixels(spectrogram(tone / 1e6, float(magnitude_spectrum(tone).max())))
    assert not quiet.any()


@given(st.integers(1, 5000))
def test_envelope_stays_within_its_height(samples: int) -> None:
    audio = np.random.default_rng(samples).uniform(-1, 1, samples)
    points = np.array([[float(v) for v in p.split(",")] for p in envelope(audio, 600, 1.0, 120).split()])
    assert len(points) == 2 * min(600, samples)
    assert points[:, 1].min() >= 0 and points[:, 1].max() <= 120
    assert points[:, 0].min() >= 0 and points[:, 0].max() <= 600


def test_curve_is_cut_at_unvoiced_steps() -> None:
    lines = curve(np.array([0.0, 100, 200, 0, 0, 600, 0]), 600, 500, 100)
    assert lines == ["100.0,80.0 200.0,60.0", "500.0,0.0"]
