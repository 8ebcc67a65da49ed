"""Limits of a synthesizer against hostile texts, plans and processes."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from toy_bundle import FakeRunner, compile_into, refresh, write_bundle

from kokoro_tvm.common.errors import BundleError, InputError, OutOfMemoryError
from kokoro_tvm.runtime import Synthesizer, Voices, read_bundle
from kokoro_tvm.runtime.speech.checks import bound_speed

ROOMY = {"tokens": [512], "frames": [5120]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with libraries that equal FakeRunner."""
    folder = write_bundle(tmp_path_factory.mktemp("strangers") / "toy", buckets=ROOMY)
    compile_into(folder, "exact")
    refresh(folder)
    return folder


def toy(folder: Path, runner: FakeRunner | None = None) -> Synthesizer:
    bundle = read_bundle(folder)
    return Synthesizer.from_parts(bundle, runner or FakeRunner(), Voices.open(bundle))


@pytest.mark.parametrize("sign", ["+", ",", "-"])
def test_mix_has_at_most_sixteen_voices(folder: Path, sign: str) -> None:
    tts = toy(folder)
    mix = sign.join(["af_heart"] * 9300)
    with pytest.raises(InputError, match="A mix may have 16 voices, but this one has 9300"):
        tts.voices.table(mix)
    plan = tts.plan_phonemes("a bad cab")
    with pytest.raises(InputError, match="16 voices"):
        tts.render(type(plan).from_json(plan.to_json().replace('"af_heart"', f'"{mix}"')))


def test_mix_of_sixteen_voices_is_the_mean(folder: Path) -> None:
    voices = toy(folder).voices
    pair = "+".join(["af_heart", "am_adam"] * 8)
    assert np.allclose(voices.table(pair), voices.table("af_heart+am_adam"), rtol=1e-6)


@pytest.mark.parametrize(
    ("speed", "rate", "bounded"),
    [
        (0.25, 0.1, 0.25),
        (1.0, 0.1, 0.25),
        (4.0, 10.0, 4.0),
        (1.0, 1.5, 1.5),
        (0.1, 1.0, 0.1),
        (8.0, 1.0, 8.0),
    ],
)
def test_rate_is_bounded_in_a_text(speed: float, rate: float, bounded: float) -> None:
    assert bound_speed(speed, rate) == bounded


def test_rate_is_bounded_in_a_plan(folder: Path) -> None:
    tts = toy(folder)
    slowest = tts.plan_phonemes("a bad cab", speed=0.25)
    word = slowest.pieces[0].words[0]
    slower = slowest.with_word(0, 0, type(word)(word.text, 0, 1, word.phonemes, word.space, rate=0.1))
    assert tts.complete(slower).samples == slowest.samples


def test_synthesizer_pickles_as_its_folder(folder: Path) -> None:
    tts = Synthesizer(folder, threads=1)
    again = pickle.loads(pickle.dumps(tts))
    assert np.array_equal(again.from_phonemes("a bad cab").audio, tts.from_phonemes("a bad cab").audio)
    with pytest.raises(InputError, match="cannot be pickled"):
        pickle.dumps(toy(folder))


class ShortRunner(FakeRunner):
    """A FakeRunner without memory for the decoder."""

    def decoder_seeded(self, *inputs: np.ndarray) -> np.ndarray:
        raise MemoryError("Unable to allocate 5.00 GiB")


def test_out_of_memory_names_the_request(folder: Path) -> None:
    with pytest.raises(OutOfMemoryError, match=r"decoder.*5\.00 GiB.*shorter parts") as caught:
        toy(folder, ShortRunner()).from_phonemes("a bad cab")
    assert isinstance(caught.value, BundleError)
    assert "Build the bundle again" not in str(caught.value)


def test_out_of_memory_of_compiled_code_is_recognized(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tts = Synthesizer(folder, threads=1)

    def fail(*arguments: object) -> None:
        raise RuntimeError("std::bad_alloc")

    monkeypatch.setattr(tts.runner, "_call", fail)
    with pytest.raises(OutOfMemoryError, match="bad_alloc"):
        tts.from_phonemes("a bad cab")
