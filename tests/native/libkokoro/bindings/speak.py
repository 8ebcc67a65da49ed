"""Speak phonemes from Python by ctypes: LIBRARY BUNDLE PHONEMES VOICE SPEED SEED OUT, a float32 file."""

from __future__ import annotations

import ctypes
import sys
from ctypes import (
    POINTER,
    byref,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int64,
    c_size_t,
    c_uint64,
    c_void_p,
)
from pathlib import Path


class Error(ctypes.Structure):
    _fields_ = (("code", c_int), ("text", c_char * 2044))


class Request(ctypes.Structure):
    _fields_ = (
        ("phonemes", c_char_p),
        ("tokens", POINTER(c_int64)),
        ("token_count", c_size_t),
        ("voice", c_char_p),
        ("style", POINTER(c_float)),
        ("speed", c_double),
    )


class Word(ctypes.Structure):
    _fields_ = (("text", c_char_p), ("start_sample", c_int64), ("end_sample", c_int64), ("spoken", c_int))


class Speech(ctypes.Structure):
    _fields_ = (
        ("samples", c_size_t),
        ("audio", POINTER(c_float)),
        ("durations", POINTER(c_int64)),
        ("token_count", c_size_t),
        ("words", POINTER(Word)),
        ("word_count", c_size_t),
        ("notice", c_char_p),
    )


def speak(
    library: str, bundle: str, phonemes: str, voice: str, speed: float, seed: int
) -> tuple[bytes, list[str]]:
    """Return audio, and words with their samples. Raises RuntimeError with the library's message."""
    kokoro = ctypes.CDLL(library)
    handle, speech, error = c_void_p(), POINTER(Speech)(), Error()

    def check(code: int) -> None:
        if code:
            raise RuntimeError(error.text.decode())

    check(kokoro.kokoro_open(bundle.encode(), None, 0, byref(handle), byref(error)))
    request = Request(phonemes.encode(), None, 0, voice.encode(), None, speed)
    check(kokoro.kokoro_predict(handle, byref(request), byref(speech), byref(error)))
    check(kokoro.kokoro_decode(handle, speech, c_uint64(seed), None, c_size_t(0), byref(error)))
    said = speech.contents
    words = [
        f"{word.start_sample} {word.end_sample} {word.text.decode()}"
        for word in said.words[: said.word_count]
    ]
    audio = ctypes.string_at(said.audio, 4 * said.samples)
    kokoro.kokoro_free(speech)
    kokoro.kokoro_close(handle)
    return audio, words


if __name__ == "__main__":
    library, bundle, phonemes, voice, speed, seed, out = sys.argv[1:]
    audio, words = speak(library, bundle, phonemes, voice, float(speed), int(seed))
    Path(out).write_bytes(audio)
    print(*words, sep="\n")
