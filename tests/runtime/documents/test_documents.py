"""The command say with documents, with the five components in numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import typer
from letters import read_letters
from typer.testing import CliRunner

import kokoro_tvm.runtime
from kokoro_tvm.cli.speak import say
from kokoro_tvm.runtime import Synthesizer

SRT = """1
00:00:00,500 --> 00:00:01,500
He ran home.

2
00:00:02,000 --> 00:00:03,000
A big bad dog did it.
"""


@pytest.fixture
def tts(roomy: tuple[Synthesizer, Any], monkeypatch: pytest.MonkeyPatch) -> Synthesizer:
    monkeypatch.setattr("kokoro_tvm.runtime.speech.sentences.phonemize_sentence", read_letters)
    monkeypatch.setattr(kokoro_tvm.runtime, "Synthesizer", lambda *_, **__: roomy[0])
    return roomy[0]


def command(*words: Path | str) -> str:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command("say")(say.say)
    return CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False).stdout


def test_say_speaks_subtitles(tts: Synthesizer, tmp_path: Path) -> None:
    (tmp_path / "a.srt").write_text(SRT)
    said = command("-i", tmp_path / "a.srt", "-o", tmp_path / "a.wav", "--captions", tmp_path / "b.srt")
    assert "s of speech" in said
    audio, rate = soundfile.read(tmp_path / "a.wav", dtype="float32")
    assert not audio[: rate // 2].any()
    assert audio[rate // 2 : 2 * rate].any() and audio[2 * rate :].any()
    written = (tmp_path / "b.srt").read_text()
    assert "00:00:00,5" in written and "00:00:02,0" in written and "A big bad dog did it." in written


def test_say_speaks_markdown(tts: Synthesizer, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# One\n\nHe ran *home*, and back.\n\n## Two\n\nA big bad dog did it.\n")
    command("-i", tmp_path / "a.md", "-o", tmp_path / "a.wav", "--captions", tmp_path / "a.vtt")
    audio, _ = soundfile.read(tmp_path / "a.wav", dtype="float32")
    assert np.array_equal(audio, tts("One\n\nHe ran home, and back.\n\nTwo\n\nA big bad dog did it.").audio)
    assert "home," in (tmp_path / "a.vtt").read_text()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["a.md", "a.vtt", "a.wav"]
