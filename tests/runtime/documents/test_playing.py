"""Players: what they are given, and what they say when they fail."""

from __future__ import annotations

import shutil
import stat
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.documents.playing import PLAYERS, open_player

AUDIO = np.array([0.5, -2.0, 0.25], np.float32)
HEARD = np.array([0.5, -1.0, 0.25], np.float32)


def program(folder: Path, name: str, code: str) -> None:
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\n{code}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    return tmp_path


@pytest.mark.parametrize("name", sorted(PLAYERS))
def test_programs(nothing: Path, name: str) -> None:
    heard = nothing / "heard"
    program(
        nothing,
        name,
        f"Path({str(heard)!r}).write_bytes(sys.stdin.buffer.read() + repr(sys.argv[1:]).encode())",
    )
    player = open_player(24000)
    player.write(AUDIO)
    player.write(AUDIO)
    player.close()
    data = heard.read_bytes()
    assert np.array_equal(np.frombuffer(data[:24], "<f4"), np.concatenate([HEARD, HEARD]))
    assert b"24000" in data[24:]


@pytest.mark.skipif(shutil.which("aplay") is None, reason="no aplay (Debian: apt-get install alsa-utils)")
def test_alsa_plays_every_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program itself, with a sound card that writes a file."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "aplay").symlink_to(shutil.which("aplay") or "")
    card = f'pcm.!default {{ type file slave.pcm null file "{tmp_path / "heard"}" format raw }}'
    (tmp_path / "alsa.conf").write_text(f"{card}\npcm.null {{ type null }}\n")
    monkeypatch.setenv("ALSA_CONFIG_PATH", str(tmp_path / "alsa.conf"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    played = np.sin(np.arange(24000) / 10, dtype=np.float32)
    player = open_player(24000)
    for block in np.array_split(played, 7):
        player.write(block)
    player.close()
    heard = np.frombuffer((tmp_path / "heard").read_bytes(), "<f4")
    assert np.array_equal(heard[: played.size], played)
    assert not heard[played.size :].any()


def test_a_player_that_fails(nothing: Path) -> None:
    program(nothing, "aplay", "sys.exit('no such device')")
    player = open_player(24000)
    with pytest.raises(InputError, match="no such device"):
        for _ in range(1000):
            player.write(np.zeros(100_000, np.float32))
    player.close(finish=False)


def test_no_player(nothing: Path) -> None:
    with pytest.raises(InputError, match=r"pw-cat, pacat.*pip install sounddevice"):
        open_player(24000)


def test_sounddevice(monkeypatch: pytest.MonkeyPatch) -> None:
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
        ("write", HEARD[:, None].tolist()),
        ("stop",),
        ("close",),
    ]
