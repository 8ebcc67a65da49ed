"""kokoro-tvm say and kokoro-tvm voices."""

from __future__ import annotations

import contextlib
import io
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import kokoro_tvm.runtime
from kokoro_tvm.cli import say, voices
from kokoro_tvm.errors import BundleError, InputError
from kokoro_tvm.runtime import Speech, SpeechWarning


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer(pretty_exceptions_enable=False)
    for module in (say, voices):
        module.register(made)
    return made


@pytest.fixture
def requested(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A Synthesizer that remembers what it was requested and gives two seconds of silence."""
    requested: dict[str, Any] = {}

    class Silent:
        def __init__(self, path: Path, threads: int | None, verify: bool, sha256: str | None) -> None:
            requested.update(bundle=path, threads=threads, verify=verify, sha256=sha256)

        def phonemize(self, text: str, voice: str) -> list[str]:
            requested["text"] = text
            warnings.warn("espeak speaks", SpeechWarning, stacklevel=1)
            return ["one", "two"]

        def from_phonemes(self, phonemes: list[str], **options: Any) -> Speech:
            requested["phonemes"] = phonemes
            requested.update(options)
            return Speech(np.zeros(48000, np.float32), 24000, np.ones(1, np.int64), {})

    monkeypatch.setattr(kokoro_tvm.runtime, "Synthesizer", Silent)
    return requested


def test_defaults(
    app: typer.Typer, requested: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["say", "Hello world."], catch_exceptions=False)
    assert result.exit_code == 0
    assert requested == {
        "bundle": Path("artifacts/cpu"),
        "threads": None,
        "verify": False,
        "sha256": None,
        "text": "Hello world.",
        "phonemes": ["one", "two"],
        "voice": "af_heart",
        "speed": 1.0,
        "seed": 0,
    }
    assert result.stdout.startswith("speech.wav: 2.00 s of speech in 0.00 s (real-time factor 0.0")
    assert result.stderr == "note: espeak speaks\n"
    assert (tmp_path / "speech.wav").stat().st_size > 48000 * 4


def test_options(app: typer.Typer, requested: dict[str, Any], tmp_path: Path) -> None:
    words = ["say", "hˈI", "--phonemes", "--voice", "af_heart,am_adam", "--speed", "1.5", "--seed", "3"]
    words += [
        "--bundle",
        "elsewhere",
        "--threads",
        "3",
        "--verify",
        "--sha256",
        "ab" * 32,
        "-o",
        str(tmp_path / "a.wav"),
    ]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert (result.exit_code, result.stderr) == (0, "")
    assert requested == {
        "bundle": Path("elsewhere"),
        "threads": 3,
        "verify": True,
        "sha256": "ab" * 32,
        "phonemes": ["hˈI"],
        "voice": "af_heart,am_adam",
        "speed": 1.5,
        "seed": 3,
    }
    assert [path.name for path in tmp_path.iterdir()] == ["a.wav"]


def test_standard_input(app: typer.Typer, requested: dict[str, Any], tmp_path: Path) -> None:
    words = ["say", "-", "-o", str(tmp_path / "a.wav")]
    CliRunner().invoke(app, words, input="Héllo\nthere", catch_exceptions=False)
    assert requested["text"] == "Héllo\nthere"


def test_standard_input_that_is_no_text(
    requested: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(b"\xff\xfe")))
    with pytest.raises(InputError, match="not UTF-8"):
        say.say("-", output=tmp_path / "a.wav")
    assert not list(tmp_path.iterdir())


def test_bad_output_is_refused_before_anything_is_spoken(requested: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        say.say("Hi.", output=tmp_path / "no" / "a.wav")
    assert requested == {}


@pytest.mark.parametrize("options", [{"speed": 0.0}, {"speed": float("nan")}, {"speed": -1.0}, {"seed": -1}])
def test_bad_numbers_are_refused_before_anything_is_opened(
    requested: dict[str, Any], tmp_path: Path, options: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match=f"The {next(iter(options))} should be"):
        say.say("Hi.", output=tmp_path / "a.wav", **options)
    assert requested == {}


def test_warnings_are_as_before_afterwards(requested: dict[str, Any], tmp_path: Path) -> None:
    before = warnings.showwarning
    say.say("Hi.", output=tmp_path / "a.wav")
    assert warnings.showwarning is before


def test_missing_bundle_leaves_no_file(app: typer.Typer, tmp_path: Path) -> None:
    for command in (["say", "Hi.", "-o", str(tmp_path / "a.wav")], ["voices"]):
        result = CliRunner().invoke(app, [*command, "--bundle", str(tmp_path / "none")])
        assert isinstance(result.exception, BundleError)
        assert "does not exist" in str(result.exception)
    assert not list(tmp_path.iterdir())


def _no_files(refs: object) -> contextlib.nullcontext[dict[None, None]]:
    return contextlib.nullcontext({None: None})


def test_voices(app: typer.Typer, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = kokoro_tvm.runtime.Voices(
        {name: np.zeros((510, 256), np.float32) for name in ("zm_yunxi", "af_heart")}
    )
    opened = types.SimpleNamespace(voices=None)
    monkeypatch.setattr(kokoro_tvm.runtime, "read_bundle", lambda path: opened)
    monkeypatch.setattr(
        "kokoro_tvm.runtime.files.OpenFiles", lambda refs: contextlib.nullcontext({None: None})
    )
    monkeypatch.setattr("kokoro_tvm.runtime.verification.verify_files", lambda files: None)
    monkeypatch.setattr(kokoro_tvm.runtime.Voices, "open", classmethod(lambda cls, bundle, file: tables))
    result = CliRunner().invoke(app, ["voices"], catch_exceptions=False)
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines == [
        ["af_heart", "American", "English", "female"],
        ["zm_yunxi", "Mandarin", "Chinese", "male"],
    ]
