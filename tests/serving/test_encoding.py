"""Encoders: other libraries decode their output."""

from __future__ import annotations

import io
import struct
import sys
import wave
from collections.abc import Iterable
from itertools import pairwise
from typing import get_args

import numpy as np
import pytest
import soundfile
import soxr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tiers import BY_AV

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.speech.resampling import encode_alaw, encode_ulaw
from kokoro_tvm.serving.encoding import FORMATS, SampleRate, available_formats, open_encoder

RATE = 24000
TIME = np.arange(RATE) / RATE
# A rising tone, which fits on itself at one place alone.
TONE = (0.5 * np.sin(2 * np.pi * (200 * TIME + 600 * TIME**2)) * np.minimum(1, 20 * TIME)).astype(np.float32)
LOSSLESS = "wav", "pcm", "flac"
# Samples of silence that decoders give before the speech: none in Ogg, which says how many there are.
BEFORE = {"mp3": 1105, "aac": 1024}
# Samples that an encoder may keep: a frame, what it looks ahead, and what a decoder keeps.
KEPT = {"wav": 0, "pcm": 0, "flac": 4096, "mp3": 2880, "opus": 1200, "aac": 3072}
QUIETER = {"mp3": 0.95}  # LAME leaves room above the signal
CONTAINERS = {"opus": "ogg", "aac": "aac"}

formats = pytest.mark.parametrize(
    "format", [pytest.param(format, marks=BY_AV) if format in CONTAINERS else format for format in KEPT]
)


def encoded(format: str, blocks: Iterable[NDArray[np.float32]], samples: int | None = None) -> bytes:
    encoder = open_encoder(format, samples)
    return b"".join([*(encoder.write(block) for block in blocks if block.size), encoder.close()])


def decoded(format: str, data: bytes) -> NDArray[np.float32]:
    """By FFmpeg, which resamples Opus from 48 kHz, without the padding before the speech."""
    import av

    if format == "pcm":
        return np.frombuffer(data, "<i2") / np.float32(32767)
    resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
    with av.open(io.BytesIO(data), format=CONTAINERS.get(format, format)) as file:
        frames = [out for frame in file.decode(audio=0) for out in resampler.resample(frame)]
    frames += resampler.resample(None)
    return np.concatenate([frame.to_ndarray()[0] for frame in frames])[BEFORE.get(format, 0) :]


def level(audio: NDArray[np.float32]) -> float:
    return float(np.sqrt(np.mean(np.square(audio, dtype=np.float64))))


@BY_AV
@pytest.mark.parametrize("format", KEPT)
def test_encoder_output_decodes_to_the_speech(format: str) -> None:
    audio = decoded(format, encoded(format, [TONE]))
    after = audio.size - TONE.size
    assert after == 0 if format in (*LOSSLESS, "opus") else 0 <= after < 2048
    expected = QUIETER.get(format, 1) * TONE
    error = level(audio[: TONE.size] - expected) / level(TONE)
    assert error < (1e-4 if format in LOSSLESS else 0.05)
    assert level(audio[: TONE.size]) == pytest.approx(level(expected), rel=0.01)


@pytest.mark.parametrize("format", ["wav", "mp3", pytest.param("opus", marks=BY_AV)])
def test_encoder_output_decodes_with_another_decoder(format: str) -> None:
    audio, rate = soundfile.read(io.BytesIO(encoded(format, [TONE], TONE.size)), dtype="float32")
    assert rate == RATE
    assert level(audio) == pytest.approx(level(TONE), rel=0.1)


@formats
@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(0, RATE), max_size=40), step=st.integers(1, 5000))
def test_encoder_output_is_independent_of_the_division(format: str, cuts: list[int], step: int) -> None:
    places = [*sorted({0, *cuts, *(range(0, RATE, step) if step > 100 else ())}), RATE]
    whole = encoded(format, [TONE])
    assert encoded(format, [TONE[a:b] for a, b in pairwise(places)]) == whole


@BY_AV
@pytest.mark.parametrize("format", KEPT)
def test_encoder_latency_is_bounded(format: str) -> None:
    """At any time, a decoder has all that was written but for an eighth of a second, of FLAC a sixth."""
    encoder = open_encoder(format)
    sent = b""
    for place in range(0, RATE, 1000):
        sent += encoder.write(TONE[place : place + 1000])
        written = place + 1000
        if written > KEPT[format] + BEFORE.get(format, 0):
            assert decoded(format, sent).size >= written - KEPT[format]


@BY_AV
@pytest.mark.parametrize("format", KEPT)
def test_encoder_clips_loud_samples(format: str) -> None:
    audio = decoded(format, encoded(format, [4 * TONE]))
    inside = audio[2000:20000]
    assert level(inside - np.clip(4 * TONE, -1, 1)[2000:20000]) < 0.15


def test_wav_is_read_by_common_readers() -> None:
    with wave.open(io.BytesIO(encoded("wav", [TONE], TONE.size))) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, RATE)
        assert file.getnframes() == TONE.size
        assert file.readframes(RATE) == encoded("pcm", [TONE])
    unknown = encoded("wav", [TONE])
    assert struct.unpack_from("<I", unknown, 4) == struct.unpack_from("<I", unknown, 40) == (0xFFFFFFFF,)


@pytest.mark.parametrize("samples", [0, 1, RATE])
def test_wav_encoder_knows_its_size(samples: int) -> None:
    assert open_encoder("wav", samples).size == len(encoded("wav", [TONE[:samples]], samples))
    assert open_encoder("wav").size is None


def test_wav_encoder_refuses_too_many_samples() -> None:
    with pytest.raises(InputError, match="do not fit into one WAV file"):
        open_encoder("wav", 1 << 31)


@pytest.mark.parametrize(
    ("format", "package", "extra"),
    [
        ("mp3", "lameenc", "serve"),
        ("flac", "soundfile", "serve"),
        ("opus", "av", "av"),
        ("aac", "av", "av"),
    ],
)
def test_open_encoder_names_the_extra_of_a_missing_library(
    format: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=rf"(?s){format} needs the package {package}.*kokoro-tvm\[{extra}\]"):
        open_encoder(format)
    assert format not in available_formats()
    assert {"wav", "pcm"} <= set(available_formats())


@BY_AV
def test_available_formats_lists_all_formats() -> None:
    assert available_formats() == tuple(FORMATS)


@pytest.mark.parametrize("rate", get_args(SampleRate))
def test_encoder_has_the_sample_rate(rate: int) -> None:
    encoder = open_encoder("wav", sample_rate=rate)
    data = b"".join([*(encoder.write(block) for block in np.array_split(TONE, 7)), encoder.close()])
    with soundfile.SoundFile(io.BytesIO(data)) as file:
        assert file.samplerate == rate
        audio = file.read(dtype="float32")
    assert abs(audio.size - rate) <= 2
    expected = soxr.resample(TONE, RATE, rate)[: audio.size]
    assert np.abs(audio[: expected.size] - expected).max() < 1e-4


@pytest.mark.parametrize(
    ("format", "subtype", "values"), [("ulaw", "ULAW", b"\xff\x80\x00"), ("alaw", "ALAW", b"\xd5\xaa\x2a")]
)
def test_telephone_encodings_are_those_of_libsndfile(format: str, subtype: str, values: bytes) -> None:
    encode = {"ulaw": encode_ulaw, "alaw": encode_alaw}[format]
    assert encode(np.array([0.0, 1.0, -1.0], np.float32)) == values
    data = encode(TONE)
    audio, _ = soundfile.read(
        io.BytesIO(data), dtype="float32", format="RAW", subtype=subtype, samplerate=RATE, channels=1
    )
    assert np.abs(audio - TONE).max() < 0.02
    assert len(encoded(format, [TONE])) == pytest.approx(8000, abs=2)


def test_opus_refuses_rates_that_it_lacks() -> None:
    with pytest.raises(InputError, match=r"opus has no sample rate of 44100 Hz\. Choose 24000 or 48000"):
        open_encoder("opus", sample_rate=44100)
