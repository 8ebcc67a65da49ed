"""Test what a `Speech` offers besides its audio."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kokoro_tvm
from kokoro_tvm.runtime import Synthesizer


def test_speech_saves_a_wav(fake_synthesizer: Synthesizer, tmp_path: Path) -> None:
    speech = fake_synthesizer.from_phonemes("həlˈo")
    speech.save(tmp_path / "a.wav")
    content = (tmp_path / "a.wav").read_bytes()
    assert content[:4] == b"RIFF"
    assert content.endswith(speech.audio.astype("<f4").tobytes())


def test_speech_refuses_the_suffix_of_another_format(fake_synthesizer: Synthesizer, tmp_path: Path) -> None:
    with pytest.raises(kokoro_tvm.InputError, match="write_audio"):
        fake_synthesizer.from_phonemes("həlˈo").save(tmp_path / "a.mp3")


def test_speech_unpacks_to_samples_and_rate(fake_synthesizer: Synthesizer) -> None:
    speech = fake_synthesizer.from_phonemes("həlˈo")
    samples, rate = speech
    assert np.array_equal(samples, speech.audio)
    assert speech.seconds == len(samples) / rate


def test_speech_has_a_short_repr_and_a_player(fake_synthesizer: Synthesizer) -> None:
    speech = fake_synthesizer.from_phonemes("həlˈo")
    assert repr(speech).startswith(f"Speech({speech.seconds:.2f} s at 24000 Hz")
    assert speech._repr_html_().startswith('<audio controls src="data:audio/wav;base64,UklGR')


def test_voices_are_a_collection_of_names(fake_synthesizer: Synthesizer) -> None:
    voices = fake_synthesizer.voices
    assert list(voices) == list(voices.names)
    assert len(voices) == len(voices.names)
    assert voices.default in voices


def test_errors_are_names_of_the_package() -> None:
    assert issubclass(kokoro_tvm.InputError, kokoro_tvm.KokoroTvmError)


def test_speech_at_another_sample_rate(fake_synthesizer: Synthesizer) -> None:
    speech = fake_synthesizer.from_phonemes("həlˈo")
    other = speech.resampled(48000)
    assert other.sample_rate == 48000
    assert abs(other.seconds - speech.seconds) < 1e-3
    with pytest.raises(kokoro_tvm.InputError, match="sample rate 11025 is not supported"):
        speech.resampled(11025)
