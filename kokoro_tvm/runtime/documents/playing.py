"""Sound on this machine's loudspeaker, while it is computed: a program of the system, or sounddevice."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.errors import InputError

__all__ = ["PLAYERS", "Player", "open_player"]

# Programs that read samples (float32, little-endian, mono) from standard input; {rate} is the sample rate.
PLAYERS: Mapping[str, str] = {
    "pw-cat": "--playback --raw --format f32 --rate {rate} --channels 1 -",
    "pacat": "--playback --raw --format float32le --rate {rate} --channels 1",
    "aplay": "--quiet --file-type raw --format FLOAT_LE --rate {rate} --channels 1",
    "play": "-q -t raw -e floating-point -b 32 -r {rate} -c 1 -",
    "ffplay": "-nodisp -autoexit -loglevel error -f f32le -ar {rate} -ac 1 -i pipe:0",
}


class Player(Protocol):
    """Something that plays samples in the order they come, and waits while it has enough of them."""

    def write(self, audio: NDArray[np.float32]) -> None:
        """Play audio (samples,)."""
        ...

    def close(self, finish: bool = True) -> None:
        """End; `finish`: after everything has been heard."""
        ...


def open_player(sample_rate: int) -> Player:
    """sounddevice where it is installed, else the first of PLAYERS that is; raises InputError without any."""
    import shutil

    try:
        return _Device(importlib.import_module("sounddevice"), sample_rate)
    except (ImportError, OSError):  # OSError: the package without PortAudio
        pass
    for name, arguments in PLAYERS.items():
        program = shutil.which(name)
        if program:
            return _Program([program, *arguments.format(rate=sample_rate).split()])
    raise InputError(
        f"There is nothing to play sound with: none of {', '.join(PLAYERS)} is installed. Install one, or "
        "run `pip install sounddevice`."
    )


class _Device:
    def __init__(self, sounddevice: Any, sample_rate: int) -> None:
        self._errors = sounddevice.PortAudioError
        try:
            self._stream = sounddevice.OutputStream(samplerate=sample_rate, channels=1, dtype="float32")
            self._stream.start()
        except self._errors as error:
            raise InputError(f"No sound can be played: {error}.") from error

    def write(self, audio: NDArray[np.float32]) -> None:
        try:
            self._stream.write(np.ascontiguousarray(np.clip(audio, -1, 1))[:, np.newaxis])
        except self._errors as error:
            raise InputError(f"No sound can be played any more: {error}.") from error

    def close(self, finish: bool = True) -> None:
        if finish:
            self._stream.stop()
        else:
            self._stream.abort()
        self._stream.close()


class _Program:
    def __init__(self, command: list[str]) -> None:
        import subprocess

        self._name = command[0]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def write(self, audio: NDArray[np.float32]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(np.clip(audio, -1, 1).astype("<f4").tobytes())
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise InputError(f"{self._name} stopped playing{self._message()}.") from error

    def close(self, finish: bool = True) -> None:
        assert self._process.stdin is not None
        if not finish:
            self._process.kill()
        with contextlib.suppress(BrokenPipeError):  # its status says so
            self._process.stdin.close()
        if self._process.wait() != 0 and finish:
            raise InputError(f"{self._name} could not play the sound{self._message()}.")

    def _message(self) -> str:
        assert self._process.stderr is not None
        lines = self._process.stderr.read().decode(errors="replace").strip().splitlines()
        return f": {lines[-1]}" if lines else ""
