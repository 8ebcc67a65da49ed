"""The program `speak` compared with Python's runtime on this machine, bit for bit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from calls import Speaker, durations, timeline
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_bundle import VOCABULARY

from kokoro_tvm import Synthesizer
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import SpeechWarning, write_wav

UTTERANCES = [
    ("abc.", "af_heart", 1.0),
    ("  b ab,\n\tc  —\x0b\r“a” ☃ ab", "am_adam", 1.0),
    ("…ab ca. b\u00a0b", "bf_emma,am_adam", 0.6),
    ("ɹəˈo, no!", " af_heart , bf_emma,am_adam", 1.7),
    ("b a, ca!", "af_heart(2)+am_adam( .5 )-bf_emma", 0.9),
]
SEED = (1 << 63) + 12_345


def assert_equal(speaker: Speaker, bundle: Path, phonemes: str, voice: str, speed: float) -> None:
    synthesizer = Synthesizer(bundle, threads=2)
    speech = synthesizer.from_phonemes(phonemes, voice=voice, speed=speed, seed=SEED)
    write_wav(speaker.folder / "expected.wav", speech.audio, speech.sample_rate)
    words = ("--phonemes", phonemes, "--voice", voice, "--speed", repr(speed), "--threads", "2")
    result = speaker(bundle, *words, "--words", "--durations", seed=SEED)
    assert result.status == 0, result.errors
    assert result.lines[0] == durations(speech)
    assert "\n".join(result.lines[1:]).split("\n") == "\n".join(timeline(speech)).split("\n")
    assert result.wav == (speaker.folder / "expected.wav").read_bytes()


@pytest.mark.filterwarnings("ignore::kokoro_tvm.runtime.SpeechWarning")
@pytest.mark.parametrize("length", ["exact", "masked", "padded"])
@pytest.mark.parametrize(("phonemes", "voice", "speed"), UTTERANCES)
def test_speak_matches_python(
    speaker: Speaker, compiled: Callable[[str], Path], length: str, phonemes: str, voice: str, speed: float
) -> None:
    assert_equal(speaker, compiled(length), phonemes, voice, speed)


@pytest.mark.slow("builds the real weights")
@pytest.mark.filterwarnings("ignore::kokoro_tvm.runtime.SpeechWarning")
@pytest.mark.weights
@pytest.mark.parametrize(
    ("phonemes", "voice", "speed"),
    [
        ("həlˈO wˈɜɹld.", "af_heart", 1.0),
        (" “hˈI!”  ʃi klˈOzd ðə hˈɛvi ☃ bˈʊk… ænd lˈɪsᵊnd", "am_michael,bf_emma,af_sky", 0.7),
    ],
)
def test_speak_matches_python_with_the_real_weights(
    speaker: Speaker, real_bundle: Path, phonemes: str, voice: str, speed: float
) -> None:
    assert_equal(speaker, real_bundle, phonemes, voice, speed)


@settings(max_examples=40)
@given(
    phonemes=st.text(
        st.sampled_from([*VOCABULARY, "\u00a0", "☃", "\n", "\t", "“", "”"]), min_size=1, max_size=40
    ),
    voice=st.lists(st.sampled_from(["af_heart", "am_adam", "ef_dora"]), min_size=1, max_size=3),
    speed=st.floats(0.05, 20),
)
def test_durations_and_words_match_python_on_random_phonemes(
    built: Path,
    tvm: Path,
    compiled: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
    phonemes: str,
    voice: list[str],
    speed: float,
) -> None:
    speaker = Speaker(built / "speak", tvm, tmp_path_factory.mktemp("any"))
    synthesizer = Synthesizer(compiled("exact"), threads=1)
    words = ("--phonemes", phonemes, "--voice", ",".join(voice), "--speed", repr(speed))
    result = speaker(compiled("exact"), *words, "--words", "--durations")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpeechWarning)
        try:
            speech = synthesizer.from_phonemes(phonemes, voice=",".join(voice), speed=speed)
        except InputError as error:
            said = result.errors.removeprefix("speak: ")
            assert result.status == 2
            assert said[:20] == str(error)[:20] or said.startswith("The utterance needs")
            return
    assert speech.plan is not None
    if len(speech.plan.pieces) > 1:  # divided, which C leaves to its caller
        assert result.status == 2
        assert result.errors.startswith("speak: The utterance needs")
        return
    assert result.status == 0, result.errors
    assert result.lines[0] == durations(speech)
    assert "\n".join(result.lines[1:]).split("\n") == "\n".join(timeline(speech)).split("\n")


def test_tokens_with_a_style_match_python(
    speaker: Speaker, compiled: Callable[[str], Path], tmp_path: Path, noise: np.ndarray
) -> None:
    synthesizer = Synthesizer(compiled("exact"), threads=1)
    style = np.array([0.25, -1.5, 2.0, 0.125], np.float32)
    style.tofile(tmp_path / "style.f32")
    speech = synthesizer.run([0, 12, 3, 14, 0], style, speed=0.6, noise=lambda samples: noise[:samples])
    write_wav(tmp_path / "expected.wav", speech.audio, speech.sample_rate)
    words = (
        "--tokens",
        "0,12,3,14,0",
        "--style",
        str(tmp_path / "style.f32"),
        "--speed",
        "0.6",
        "--durations",
    )
    result = speaker(compiled("exact"), *words, noise=noise[: speech.audio.size])
    assert (result.status, result.lines, result.errors) == (0, [durations(speech)], "")
    assert result.wav == (tmp_path / "expected.wav").read_bytes()


def test_voices_lists_all_voices(speaker: Speaker, compiled: Callable[[str], Path]) -> None:
    result = speaker(compiled("exact"), "--voices")
    assert tuple(result.lines) == Synthesizer(compiled("exact"), threads=1).voices.names


def test_notice_names_omitted_symbols(speaker: Speaker, compiled: Callable[[str], Path]) -> None:
    result = speaker(compiled("exact"), "--phonemes", "a☃b☃ζ.")
    assert result.status == 0
    assert (
        result.errors
        == "speak: Left out, because the model does not know them: '☃' (U+2603), 'ζ' (U+03B6).\n"
    )


@pytest.mark.parametrize("kinds", ["citations", "notes,citations,code,math"])
def test_speak_leaves_out_kinds_of_text(speaker: Speaker, talking: Path, kinds: str) -> None:
    text = "A cab [3] ran `far` (Lee, 2020)."
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SpeechWarning)
        speech = Synthesizer(talking, threads=2)(text, seed=7, omit=kinds.split(","))
    write_wav(speaker.folder / "expected.wav", speech.audio, speech.sample_rate)
    result = speaker(talking, text, "--omit", kinds, seed=7)
    assert result.status == 0, result.errors
    notices = result.errors.replace("speak: ", "").splitlines()
    assert notices == [line for entry in caught for line in str(entry.message).splitlines()]
    assert result.wav == (speaker.folder / "expected.wav").read_bytes()


def test_speak_refuses_unknown_kinds_of_text(speaker: Speaker, talking: Path) -> None:
    result = speaker(talking, "A cab.", "--omit", "code,poems")
    assert (result.status, result.wav) == (2, b"")
    assert "no kind of text 'poems'" in result.errors
