"""Bodies of responses that carry speech: audio, events, captions."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from kokoro_tvm.runtime.notices import Notice
from kokoro_tvm.runtime.speech.stream import Chunk
from kokoro_tvm.runtime.speech.words import TimedWord
from kokoro_tvm.serving.encoding import Encoder, open_encoder
from kokoro_tvm.serving.errors import ApiError


class Body(Protocol):
    """Converts chunks of a speech into the body of a response. Threads call it one after the other.

    Attributes:
        media_type: For the header Content-Type.
        size: Bytes of the whole body, if they are known before the first.
    """

    media_type: str
    size: int | None

    def write(self, chunk: Chunk) -> bytes:
        """Encode a chunk; the bytes may come later."""
        ...

    def note(self, notices: Sequence[Notice]) -> bytes:
        """Encode notices; nothing if they have no place but the headers."""
        ...

    def close(self) -> bytes:
        """Return the end of the body."""
        ...

    def fail(self, error: ApiError) -> bytes | None:
        """Return the end of the body after an error; None if the body has no place for an error."""
        ...


class AudioBody:
    """Body that is nothing but audio."""

    def __init__(self, format: str, gain: float, samples: int | None, sample_rate: int | None = None) -> None:
        """Create a body; `gain` is a factor on the audio. Raises InputError as `open_encoder` does."""
        self._encoder: Encoder = open_encoder(format, samples, sample_rate)
        self._gain = gain
        self.media_type = self._encoder.media_type
        self.size: int | None = self._encoder.size

    def write(self, chunk: Chunk) -> bytes:
        """Encode a chunk."""
        audio = chunk.audio * np.float32(self._gain)
        return self._encoder.write(audio) if audio.size else b""

    def note(self, notices: Sequence[Notice]) -> bytes:
        """Encode notices."""
        return b""

    def close(self) -> bytes:
        """Return the end of the body."""
        return self._encoder.close()

    def fail(self, error: ApiError) -> bytes | None:
        """Return the end of the body after an error."""
        return None


class EventBody:
    """OpenAI's server-sent events, with two more before the audio of a piece: notices, and its words.

    Tokens of `usage` are what the model computes: symbols of phonemes, and frames of 25 ms.
    """

    media_type = "text/event-stream"
    size: int | None = None

    def __init__(self, format: str, gain: float, samples: int | None, sample_rate: int | None = None) -> None:
        self._audio = AudioBody(format, gain, samples, sample_rate)
        self._symbols = self._frames = 0

    def write(self, chunk: Chunk) -> bytes:
        """Encode a chunk."""
        self._symbols += len(chunk.piece.symbols)
        self._frames += chunk.piece.frames
        words = _event("speech.audio.words", words=describe_words(chunk.words)) if chunk.words else b""
        return words + _audio_event(self._audio.write(chunk))

    def note(self, notices: Sequence[Notice]) -> bytes:
        """Encode notices."""
        return b"".join(
            _event("speech.audio.notice", notice=notice, words=notice.words) for notice in notices
        )

    def close(self) -> bytes:
        """Return the end of the body."""
        usage = {
            "input_tokens": self._symbols,
            "output_tokens": self._frames,
            "total_tokens": self._symbols + self._frames,
        }
        return _audio_event(self._audio.close()) + _event("speech.audio.done", usage=usage)

    def fail(self, error: ApiError) -> bytes:
        """Return the end of the body after an error."""
        return _event("error", error=error.body)


class CaptionBody:
    """Kokoro-FastAPI's JSON of audio and words: a line for each piece, or one object for all pieces.

    After an error the last line is `{"error": ...}`.
    """

    media_type = "application/json"
    size: int | None = None

    def __init__(
        self,
        format: str,
        gain: float,
        has_times: bool,
        is_split: bool,
        voice: str | None,
        samples: int | None,
        sample_rate: int | None = None,
    ) -> None:
        """Create a body.

        Args:
            format: Of the audio.
            gain: Factor on the audio.
            has_times: Send words with their times.
            is_split: Send an object for each piece.
            voice: Of words whose piece names none. None leaves out the voices of words.
            samples: Number of samples of all audio, if it is known.
            sample_rate: Of the audio, in Hz; None: that of the format.
        """
        self._audio = AudioBody(format, gain, samples, sample_rate)
        self._has_times = has_times
        self._is_split = is_split
        self._voice = voice
        self._bytes: list[bytes] = []
        self._words: list[dict[str, Any]] = []
        self._notices: list[str] = []

    def write(self, chunk: Chunk) -> bytes:
        """Encode a chunk."""
        self._bytes.append(self._audio.write(chunk))
        voice = {} if self._voice is None else {"voice": chunk.piece.voice or self._voice}
        self._words += [word | voice for word in describe_words(chunk.words)]
        return self._take_line() if self._is_split else b""

    def note(self, notices: Sequence[Notice]) -> bytes:
        """Encode notices."""
        self._notices += notices
        return b""

    def close(self) -> bytes:
        """Return the end of the body."""
        last = self._audio.close()
        self._bytes.append(last)
        return self._take_line() if last or not self._is_split else b""

    def fail(self, error: ApiError) -> bytes:
        """Return the end of the body after an error."""
        return json.dumps({"error": error.body}).encode() + b"\n"

    def _take_line(self) -> bytes:
        """Return the line of the audio, words and notices so far, and forget these."""
        node: dict[str, Any] = {
            "audio": base64.b64encode(b"".join(self._bytes)).decode(),
            "audio_format": self._audio.media_type,
            "timestamps": self._words if self._has_times else None,
        }
        if self._notices:
            node["notices"] = self._notices
        self._bytes, self._words, self._notices = [], [], []
        return json.dumps(node).encode() + b"\n"


def describe_words(words: Sequence[TimedWord]) -> list[dict[str, Any]]:
    """Return words as JSON objects.

    Times are seconds from the start of the speech. `source` is the place in its text: the first code point
    and the one after the last.
    """
    return [
        {
            "word": word.text,
            "start_time": round(word.start, 6),
            "end_time": round(word.end, 6),
            "source": list(word.source),
        }
        for word in words
    ]


def _audio_event(audio: bytes) -> bytes:
    """Return the event of some audio; nothing for no audio."""
    return _event("speech.audio.delta", audio=base64.b64encode(audio).decode()) if audio else b""


def _event(kind: str, **fields: Any) -> bytes:
    """Encode a server-sent event."""
    return b"data: " + json.dumps({"type": kind} | fields).encode() + b"\n\n"
