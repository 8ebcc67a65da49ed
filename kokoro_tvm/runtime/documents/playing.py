"""Playback on this machine's loudspeaker, by sounddevice."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.errors import InputError


class Player:
    """An open output stream of the default device; mono, float32."""

    def __init__(self, sounddevice: Any, sample_rate: int) -> None:
        self._error = sounddevice.PortAudioError
        try:
            self._stream = sounddevice.OutputStream(samplerate=sample_rate, channels=1, dtype="float32")
            self._stream.start()
        except self._error as error:
            raise InputError(f"No sound can be played: {error}.") from error

    def write(self, audio: NDArray[np.float32]) -> None:
        """Queue audio (samples,), clipped to 1, and wait while the queue is full; raises InputError."""
        try:
            self._stream.write(np.ascontiguousarray(np.clip(audio, -1, 1))[:, np.newaxis])
        except self._error as error:
            raise InputError(f"No sound can be played any more: {error}.") from error

    def close(self, finish: bool = True) -> None:
        """Close the stream: after the queue was played, or at once."""
        if finish:
            self._stream.stop()
        else:
            self._stream.abort()
        self._stream.close()


def open_player(sample_rate: int) -> Player:
    """Open the default output device.

    Raises:
        InputError: sounddevice or PortAudio is not installed, or there is no device.
    """
    try:
        sounddevice = importlib.import_module("sounddevice")
    except (ImportError, OSError) as error:  # OSError: the package without PortAudio
        raise InputError(
            f"Playing sound needs sounddevice, which cannot be imported ({error}). Run `pip install "
            "'kokoro-tvm[say]'`; Linux needs PortAudio too (Debian: apt-get install libportaudio2)."
        ) from error
    return Player(sounddevice, sample_rate)
