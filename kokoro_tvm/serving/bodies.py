"""What chunks of a speech become in the body of an answer: audio, events, captions."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from kokoro_tvm.runtime.speech.stream import Chunk
from kokoro_tvm.runtime.speech.words import TimedWord
from kokoro_tvm.serving.encoding import Encoder, open_encoder
from kokoro_tvm.serving.errors import ApiError

__all__ = ["Audio", "Body", "Captions", "Events", "words_of"]


class Body(Protocol):
    """What chunks of a speech become; called from one thread after the other."""

    media_type: str
    size: int | None
    """Bytes of all of it, where that is known before the first."""

    def write(self, chunk: Chunk) -> bytes:
        """What can be sent of a chunk; perhaps nothing yet."""
        ...

    def note(self, notices: Sequence[str]) -> bytes:
        """What is sent of notices; nothing where there is no place for them but the headers."""
        ...

    def close(self) -> bytes:
        """The end of it."""
        ...

    def fail(self, error: ApiError) -> bytes | None:
        """How it ends after an error; None where it has no words for one, and the connection is cut."""
        ...


class Audio:
    """Nothing but audio."""

    def __init__(self, format: str, gain: float, samples: int | None) -> None:
        """gain: a factor on the audio. Raises InputError as `open_encoder` does."""
        self._encoder: Encoder = open_encoder(format, samples)
        self._gain = gain
        self.media_type = self._encoder.media_type
        self.size: int | None = self._encoder.size

    def write(self, chunk: Chunk) -> bytes:
        audio = chunk.audio * np.float32(self._gain)
        return self._encoder.write(audio) if audio.size else b""

    def note(self, notices: Sequence[str]) -> bytes:
        return b""

    def close(self) -> bytes:
        return self._encoder.close()

    def fail(self, error: ApiError) -> bytes | None:
        return None


class Events:
    """OpenAI's server-sent events, with two of our own before the audio of a piece: notices, and its words.

    Tokens of `usage` are what the model computes: symbols of phonemes, and frames of 25 ms.
    """

    media_type = "text/event-stream"
    size: int | None = None

    def __init__(self, format: str, gain: float, samples: int | None) -> None:
        self._audio = Audio(format, gain, samples)
        self._symbols = self._frames = 0

    def write(self, chunk: Chunk) -> bytes:
        self._symbols += len(chunk.piece.symbols)
        self._frames += chunk.piece.frames
        words = _event("speech.audio.words", words=words_of(chunk.words)) if chunk.words else b""
        return words + _delta(self._audio.write(chunk))

    def note(self, notices: Sequence[str]) -> bytes:
        return b"".join(_event("speech.audio.notice", notice=notice) for notice in notices)

    def close(self) -> bytes:
        usage = {
            "input_tokens": self._symbols,
            "output_tokens": self._frames,
            "total_tokens": self._symbols + self._frames,
        }
        return _delta(self._audio.close()) + _event("speech.audio.done", usage=usage)

    def fail(self, error: ApiError) -> bytes:
        return _event("error", error=error.body)


class Captions:
    """Kokoro-FastAPI's JSON of audio and words: a line for each piece, or one object for all of it.

    After an error the last line is `{"error": ...}`.
    """

    media_type = "application/json"
    size: int | None = None

    def __init__(
        self, format: str, gain: float, timed: bool, lines: bool, voice: str | None, samples: int | None
    ) -> None:
        """timed: whether words have their times; lines: whether every piece is an object of its own; voice:
        of words whose piece has none of its own, None for words without their voice."""
        self._audio = Audio(format, gain, samples)
        self._timed = timed
        self._lines = lines
        self._voice = voice
        self._bytes: list[bytes] = []
        self._words: list[dict[str, Any]] = []
        self._notices: list[str] = []

    def write(self, chunk: Chunk) -> bytes:
        self._bytes.append(self._audio.write(chunk))
        spoken = {} if self._voice is None else {"voice": chunk.piece.voice or self._voice}
        self._words += [word | spoken for word in words_of(chunk.words)]
        return self._line() if self._lines else b""

    def note(self, notices: Sequence[str]) -> bytes:
        self._notices += notices
        return b""

    def close(self) -> bytes:
        last = self._audio.close()
        self._bytes.append(last)
        return self._line() if last or not self._lines else b""

    def fail(self, error: ApiError) -> bytes:
        return json.dumps({"error": error.body}).encode() + b"\n"

    def _line(self) -> bytes:
        node: dict[str, Any] = {
            "audio": base64.b64encode(b"".join(self._bytes)).decode(),
            "audio_format": self._audio.media_type,
            "timestamps": self._words if self._timed else None,
        }
        if self._notices:
            node["notices"] = self._notices
        self._bytes, self._words, self._notices = [], [], []
        return json.dumps(node).encode() + b"\n"


def words_of(words: Sequence[TimedWord]) -> list[dict[str, Any]]:
    """Words with their times in seconds from the start of the speech, and their places in its text: the first
    character and the one after the last, in code points."""
    return [
        {
            "word": word.text,
            "start_time": round(word.start, 6),
            "end_time": round(word.end, 6),
            "source": list(word.source),
        }
        for word in words
    ]


def _delta(audio: bytes) -> bytes:
    return _event("speech.audio.delta", audio=base64.b64encode(audio).decode()) if audio else b""


def _event(kind: str, **fields: Any) -> bytes:
    return b"data: " + json.dumps({"type": kind} | fields).encode() + b"\n\n"
