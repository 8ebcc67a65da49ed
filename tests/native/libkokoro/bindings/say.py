"""Speak a text from Python by ctypes: LIBRARY BUNDLE TEXT VOICE SPEED SEED OUT, a file of float32 numbers."""

from __future__ import annotations

import ctypes
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path

from speak import Error, Speech


class Text(ctypes.Structure):
    _fields_ = (
        *(("text", c_char_p), ("voice", c_char_p), ("speed", c_double)),
        *(("markup", c_int), ("omit", c_int)),
    )


class Place(ctypes.Structure):
    _fields_ = (("start", c_size_t), ("end", c_size_t))


class Said(ctypes.Structure):
    _fields_ = (*Speech._fields_, ("places", POINTER(Place)))


def say(library: str, bundle: str, text: str, voice: str, speed: float, seed: int) -> tuple[bytes, list[str]]:
    """Return audio, and words with their samples and places in the text. Raises RuntimeError."""
    kokoro = ctypes.CDLL(library)
    handle, speech, error = c_void_p(), POINTER(Said)(), Error()

    def check(code: int) -> None:
        if code:
            raise RuntimeError(error.text.decode())

    check(kokoro.kokoro_open(bundle.encode(), None, 0, byref(handle), byref(error)))
    given = Text(text.encode(), voice.encode(), speed, 0)
    check(kokoro.kokoro_say_text(handle, byref(given), c_uint64(seed), byref(speech), byref(error)))
    said = speech.contents
    words = [
        f"{word.start_sample} {word.end_sample} {word.text.decode()} "
        + given.text[place.start : place.end].decode()
        for word, place in zip(said.words[: said.word_count], said.places[: said.word_count], strict=True)
    ]
    audio = ctypes.string_at(said.audio, 4 * said.samples)
    kokoro.kokoro_free(speech)
    kokoro.kokoro_close(handle)
    return audio, words


if __name__ == "__main__":
    library, bundle, text, voice, speed, seed, out = sys.argv[1:]
    audio, words = say(library, bundle, text, voice, float(speed), int(seed))
    Path(out).write_bytes(audio)
    print(*words, sep="\n")
