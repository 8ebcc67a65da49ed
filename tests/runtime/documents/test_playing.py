"""Playback through sounddevice, and the errors without it."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.documents.playing import open_player

AUDIO = np.array([0.5, -2.0, 0.25], np.float32)
CLIPPED = np.array([0.5, -1.0, 0.25], np.float32)


def test_open_player_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    with pytest.raises(InputError, match=r"kokoro-tvm\[say\].*libportaudio2"):
        open_player(24000)


def test_open_player_without_a_device_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**options: Any) -> None:
        raise RuntimeError("no such device")

    module = types.ModuleType("sounddevice")
    module.OutputStream, module.PortAudioError = fail, RuntimeError  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sounddevice", module)
    with pytest.raises(InputError, match="no such device"):
        open_player(24000)


def test_player_writes_clipped_samples_to_sounddevice(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Any] = []

    class Output:
        def __init__(self, **options: Any) -> None:
            events.append(options)

        def __getattr__(self, name: str) -> Any:
            return lambda *values: events.append((name, *(v.tolist() for v in values)))

    module = types.ModuleType("sounddevice")
    module.OutputStream, module.PortAudioError = Output, RuntimeError  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sounddevice", module)
    player = open_player(24000)
    player.write(AUDIO)
    player.close()
    assert events == [
        {"samplerate": 24000, "channels": 1, "dtype": "float32"},
        ("start",),
        ("write", CLIPPED[:, None].tolist()),
        ("stop",),
        ("close",),
    ]
