"""The synthesizer, with the five components in numpy."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from toy_bundle import SAMPLES, VOCABULARY

from kokoro_tvm.common.constants import COMPONENTS
from kokoro_tvm.common.errors import BundleError, InputError
from kokoro_tvm.common.noise import draw_noise
from kokoro_tvm.runtime import Chunk, Division, Pauses, SpeechWarning, Synthesizer, TooLongError
from kokoro_tvm.runtime.text.frontend import languages as g2p
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.frontend.strings import tokenize_phonemes
from kokoro_tvm.runtime.text.frontend.tokens import Utterance

REF_S = np.array([0.5, -1.0, 0.25, 2.0], np.float32)


def _reference(
    tokens: list[int], ref_s: np.ndarray, speed: float, noise: np.ndarray
) -> tuple[np.ndarray, list[int]]:
    """Compute the same without the runtime's code."""
    scale = np.array([0.5, 1.0, 0.25, 2.0], np.float32)
    features = scale[:, None] * np.array(tokens, np.float32)
    counts = [max(1, round(min(t, 9) / speed)) for t in tokens]
    of_frame = [t for t, count in enumerate(counts) for _ in range(count)]
    timbre, prosody = ref_s[:2], ref_s[2:]
    f0 = (features + prosody[0])[:, of_frame].sum(0)
    voiced = features[0, of_frame] + f0 + f0 * prosody[1]
    return np.repeat(voiced, SAMPLES) * timbre[0] + noise, counts


def test_run_returns_audio_and_durations(fake: tuple[Synthesizer, Any]) -> None:
    tts, runner = fake
    tokens = [0, 3, 20, 7, 0]
    speech = tts.run(tokens, REF_S[None], speed=2.0, seed=5)
    expected, counts = _reference(tokens, REF_S, 2.0, draw_noise(5, speech.audio.size))
    assert speech.durations.tolist() == counts
    assert (speech.audio.dtype, speech.durations.dtype, speech.sample_rate) == (np.float32, np.int64, 24000)
    assert speech.audio.shape == (sum(counts) * SAMPLES,)
    np.testing.assert_allclose(speech.audio, expected, rtol=1e-5)
    assert tuple(speech.timings) == COMPONENTS
    assert all(seconds >= 0 for seconds in speech.timings.values())
    assert [component for component, _ in runner.calls] == [
        "bert",
        "duration",
        "text_encoder",
        "f0n",
        "decoder_seeded",
    ]


def test_run_accepts_noise_as_array_function_or_seed(fake: tuple[Synthesizer, Any]) -> None:
    tts, _ = fake
    seeded = tts.run([0, 4, 0], REF_S, seed=11)
    noise_array = draw_noise(11, seeded.audio.size)
    assert np.array_equal(tts.run([0, 4, 0], REF_S, noise=noise_array, seed=99).audio, seeded.audio)
    requested: list[int] = []
    called = tts.run([0, 4, 0], REF_S, noise=lambda samples: requested.append(samples) or noise_array)
    assert np.array_equal(called.audio, seeded.audio)
    assert requested == [seeded.audio.size]
    assert not np.array_equal(tts.run([0, 4, 0], REF_S, seed=12).audio, seeded.audio)


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (np.zeros(5, np.float32), r"should have shape \(60,\), but has \(5,\)"),
        (np.zeros((60, 9), np.float32), r"has \(60, 9\)"),
        (np.full(60, np.nan, np.float32), "all of them finite"),
        (np.zeros(60, np.int64), "int64"),
        (lambda samples: np.zeros((samples, 1)), r"has \(60, 1\)"),
    ],
)
def test_run_refuses_invalid_noise(fake: tuple[Synthesizer, Any], noise: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fake[0].run([0, 4, 0], REF_S, noise=noise)


@pytest.mark.parametrize(
    "tokens", [[], [[0, 1], [0, 2]], [0.5], ["a"], [-1], [len(VOCABULARY) + 1], np.zeros((1, 1, 2), np.int64)]
)
def test_run_refuses_invalid_tokens(fake: tuple[Synthesizer, Any], tokens: Any) -> None:
    with pytest.raises(InputError, match="token_ids should"):
        fake[0].run(tokens, REF_S)


@pytest.mark.parametrize("ref_s", [np.ones(3), np.ones((2, 4)), [1, 2, 3, math.nan], ["a"] * 4])
def test_run_refuses_invalid_styles(fake: tuple[Synthesizer, Any], ref_s: Any) -> None:
    with pytest.raises(InputError, match="ref_s"):
        fake[0].run([0, 1, 0], ref_s)


@pytest.mark.parametrize("speed", [0.24, 4.5, np.float32(0.2)])
def test_synthesizer_warns_of_extreme_speeds(fake: tuple[Synthesizer, Any], speed: Any) -> None:
    tts, _ = fake
    for speak in (
        lambda: tts.plan_phonemes("ab", speed=speed),
        lambda: tts.from_phonemes("ab", speed=speed),
        lambda: tts.run([0, 1, 0], REF_S, speed=speed),
    ):
        with pytest.warns(SpeechWarning, match=r"beyond what the model can say, 0\.25 to 4"):
            speak()


@pytest.mark.parametrize("speed", [0.25, 1, 4.0])
def test_synthesizer_accepts_usual_speeds(fake: tuple[Synthesizer, Any], speed: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", SpeechWarning)
        fake[0].from_phonemes("ab", speed=speed)


@pytest.mark.parametrize("value", [1e30, -33.0, 1e300, 10**20])
def test_run_refuses_extreme_styles(fake: tuple[Synthesizer, Any], value: float) -> None:
    style = np.zeros(4)
    style[2] = value
    with pytest.raises(InputError, match="invalid ref_s: its magnitude"):
        fake[0].run([0, 1, 0], style)


@pytest.mark.parametrize("option", ["division", "pauses"])
@pytest.mark.parametrize("value", [None, 3])
def test_synthesizer_refuses_settings_of_another_type(
    fake: tuple[Synthesizer, Any], option: str, value: Any
) -> None:
    with pytest.raises(InputError, match=rf"{option} should be (Division|Pauses)\(…\), but is {value}"):
        fake[0].plan("Hi.", **{option: value})


def test_settings_accept_numpy_numbers() -> None:
    assert Division(first=np.int64(30)) == Division(first=30)
    assert Pauses(comma=np.float32(0.5)) == Pauses(comma=0.5)


@pytest.mark.parametrize("seed", [2**70, -(2**70), 2**64, pytest.param(10**5000, id="huge")])
def test_synthesizer_refuses_seeds_beyond_64_bits(fake: tuple[Synthesizer, Any], seed: int) -> None:
    tts, _ = fake
    plan = tts.plan_phonemes("ab")
    for use in (lambda: tts.from_phonemes("ab", seed=seed), lambda: tts.render(replace(plan, seed=seed))):
        with pytest.raises(InputError, match="seed"):
            use()


@pytest.mark.parametrize(
    "speed", [0, -1, math.nan, math.inf, -math.inf, 10**400, pytest.param(10**5000, id="huge"), "fast", None]
)
def test_synthesizer_refuses_invalid_speeds(fake: tuple[Synthesizer, Any], speed: Any) -> None:
    tts, runner = fake
    for speak in (lambda: tts("Hi.", speed=speed), lambda: tts.from_phonemes("ab", speed=speed)):
        with pytest.raises(InputError, match="speed should be a"):
            speak()
    with pytest.raises(InputError, match="speed should be a"):
        tts.run([0, 1, 0], REF_S, speed=speed)
    assert runner.calls == []


@pytest.mark.parametrize("seed", [-1, 0.5, "x"])
def test_synthesizer_refuses_invalid_seeds(fake: tuple[Synthesizer, Any], seed: Any) -> None:
    with pytest.raises(InputError, match="seed should be a whole number"):
        fake[0].from_phonemes("ab", seed=seed)


def test_run_refuses_long_utterances(fake: tuple[Synthesizer, Any]) -> None:
    tts, _ = fake
    with pytest.raises(TooLongError, match=r"65 tokens.*64"):
        tts.run([1] * 65, REF_S)
    with pytest.raises(TooLongError, match=r"135 frames.*128.*faster"):
        tts.run([9] * 15, REF_S)
    with pytest.raises(TooLongError, match="frames"):
        tts.run([0, 1, 0], REF_S, speed=1e-300)


def test_from_phonemes_equals_run(fake: tuple[Synthesizer, Any]) -> None:
    tts, _ = fake
    spoken = tts.from_phonemes("ab. ", voice="am_adam", speed=1.5, seed=2)
    ids = [0, *(VOCABULARY[s] for s in "ab. "), 0]
    same = tts.run(ids, tts.voices.table("am_adam")[3], speed=1.5, seed=2)
    assert np.array_equal(spoken.audio, same.audio)
    assert np.array_equal(spoken.durations, same.durations)


def test_from_phonemes_warns_of_unknown_symbols(fake: tuple[Synthesizer, Any]) -> None:
    """The style depends on the length of the input, as in stock Kokoro."""
    tts, _ = fake
    with pytest.warns(SpeechWarning, match="'Z'"):
        spoken = tts.from_phonemes("aZb")
    same = tts.run([0, VOCABULARY["a"], VOCABULARY["b"], 0], tts.voices.table("af_heart")[2])
    assert np.array_equal(spoken.audio, same.audio)


@pytest.mark.parametrize("phonemes", ["", "  ", "ZZ", "a\0", []])
def test_from_phonemes_refuses_empty_phonemes(fake: tuple[Synthesizer, Any], phonemes: Any) -> None:
    tts, runner = fake
    with pytest.raises(InputError):
        tts.from_phonemes(phonemes)
    assert runner.calls == []


def test_from_phonemes_divides_long_utterances(fake: tuple[Synthesizer, Any]) -> None:
    tts, _ = fake
    sentence = ". ".join(["." * 5 + "a" * 20] * 4)  # 103 symbols that last a frame or so each
    spoken = tts.from_phonemes(sentence, speed=9.0)
    assert spoken.durations.size > 64
    assert spoken.audio.size == spoken.durations.sum() * SAMPLES


def test_from_phonemes_divides_slow_utterances(fake: tuple[Synthesizer, Any]) -> None:
    """20 tokens fit, their 150 frames do not; each part has its own seed."""
    tts, _ = fake
    whole = tts.from_phonemes("hhhhhhhh. hhhhhhhh.", seed=4)
    table = tts.voices.table("af_heart")
    ids = [0, *[VOCABULARY["h"]] * 8, VOCABULARY["."], 0]
    noises = [draw_noise(4, 10 * 76, piece) for piece in (0, 1)]
    alone = [tts.run(ids, table[8], noise=noise) for noise in noises]
    assert whole.durations.tolist() == [*alone[0].durations, *alone[1].durations]
    # The pause at a sentence end: here both silences are shorter than what is kept of them.
    pause = round(0.4 * 24000) - round(0.05 * 24000) - round(0.15 * 24000)
    assert np.array_equal(whole.audio[:760], alone[0].audio)
    assert not whole.audio[760 : 760 + pause].any()
    assert np.array_equal(whole.audio[760 + pause :], alone[1].audio)


def test_seed_determines_the_audio(fake: tuple[Synthesizer, Any]) -> None:
    tts, _ = fake
    long = "hhh hhh hhh. " * 10
    first, second = (tts.from_phonemes(long, seed=8) for _ in range(2))
    assert np.array_equal(first.audio, second.audio)
    assert not np.array_equal(first.audio, tts.from_phonemes(long, seed=9).audio)


def test_random_seed_is_recorded(fake: tuple[Synthesizer, Any]) -> None:
    tts, _ = fake
    spoken, other = (tts.from_phonemes("hhh", seed=None) for _ in range(2))
    assert spoken.plan is not None and other.plan is not None
    assert spoken.plan.seed != other.plan.seed
    assert np.array_equal(spoken.audio, tts.from_phonemes("hhh", seed=spoken.plan.seed).audio)


def test_synthesizer_takes_names_of_openai(fake: tuple[Synthesizer, Any]) -> None:
    tts, _ = fake
    spoken = tts.from_phonemes("hhh", voice="marin")
    assert np.array_equal(spoken.audio, tts.from_phonemes("hhh", voice="af_heart").audio)
    assert spoken.plan is not None and spoken.plan.voice == "af_heart"


def test_synthesizer_refuses_a_list_of_texts(fake: tuple[Synthesizer, Any]) -> None:
    for call in (fake[0], fake[0].stream, fake[0].plan):
        with pytest.raises(InputError, match=r"The text is a list.* in a loop, .*`kokoro-tvm batch`"):
            call(["Hello.", "world."])


def test_lexicon_of_a_text_overrides_words(fake_synthesizer: Synthesizer) -> None:
    plan = fake_synthesizer.plan("A bad dog.", lexicon={"bad": "abc"})
    words = [word for piece in plan.pieces for word in piece.words]
    assert [word.phonemes for word in words if word.text == "bad"] == ["abc"]
    with pytest.raises(InputError, match=r"The lexicon has a mistake at 'bad': .* one syllable in capitals"):
        fake_synthesizer.plan("A bad dog.", lexicon={"bad": "ba-da"})


def test_astream_yields_the_chunks_of_a_stream(fake_synthesizer: Synthesizer) -> None:
    text = "A bad dog. " * 9

    async def collect(most: int) -> list[Chunk]:
        chunks = []
        async for chunk in fake_synthesizer.astream(text, seed=3):
            chunks.append(chunk)
            if len(chunks) == most:
                break
        return chunks

    whole = list(fake_synthesizer.stream(text, seed=3))
    assert len(whole) > 2
    for most in (1, 99):
        chunks = asyncio.run(collect(most))
        assert [chunk.start for chunk in chunks] == [chunk.start for chunk in whole[:most]]
        assert all(np.array_equal(a.audio, b.audio) for a, b in zip(chunks, whole, strict=False))


def test_from_phonemes_refuses_indivisible_text(fake: tuple[Synthesizer, Any]) -> None:
    with pytest.raises(
        InputError, match=r"exceeds the largest bucket .*64 tokens, 128 frames.*cannot be divided"
    ):
        fake[0].from_phonemes("a" * 63)
    with pytest.raises(InputError, match=r"at speed 1 and cannot be divided.*or speak faster"):
        fake[0].from_phonemes("h" * 30)


def test_from_phonemes_accepts_several_utterances(fake: tuple[Synthesizer, Any]) -> None:
    tts, _ = fake
    with pytest.warns(SpeechWarning, match="Z"):
        spoken = tts.from_phonemes(["ab", "Z", "cd"])
    assert spoken.durations.size == 4 + 4


def test_call_synthesizes_text(fake: tuple[Synthesizer, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[tuple[str, str]] = []

    def read(source: SourceText, code: str, front_end: object) -> list[Utterance]:
        requested.append((source.text, code))
        return [Utterance(tokenize_phonemes({"Hi.": "ab", "You.": "cd"}[source.text]))]

    monkeypatch.setattr("kokoro_tvm.runtime.speech.sentences.phonemize_sentence", read)
    tts, _ = fake
    spoken = tts(" Hi.\n\nYou.\n", voice="bf_emma", seed=1)
    assert requested == [("Hi.", "b"), ("You.", "b")]
    assert np.array_equal(spoken.audio, tts.from_phonemes(["ab", "cd"], voice="bf_emma", seed=1).audio)
    with pytest.warns(SpeechWarning, match="American English is used"):
        tts("Hi.", voice="af_heart,bf_emma")


def test_call_uses_the_front_end(fake: tuple[Synthesizer, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(g2p, "_converters", {})
    with pytest.warns(SpeechWarning):
        assert fake[0]("A big bad dog.").audio.size > 0


@pytest.mark.parametrize("text", ["", "⌘", "a\0b"])
def test_call_refuses_invalid_text(fake: tuple[Synthesizer, Any], text: str) -> None:
    with pytest.raises(InputError) as caught:
        fake[0](text)
    assert "\n" not in str(caught.value)


def test_call_refuses_an_unknown_voice(fake: tuple[Synthesizer, Any]) -> None:
    for speak in (fake[0], fake[0].from_phonemes):
        with pytest.raises(InputError, match="Nearest: af_heart"):
            speak("abc", voice="af_hart")


def test_synthesizer_warns_of_synthetic_weights(fake: tuple[Synthesizer, Any]) -> None:
    tts, _ = fake
    tts.bundle = dataclasses.replace(tts.bundle, synthetic=True)
    for _ in range(2):
        with pytest.warns(SpeechWarning, match=r"synthetic \(random\) weights"):
            tts.from_phonemes("ab")
        with pytest.warns(SpeechWarning, match="synthetic"):
            tts.run([0, 1, 0], REF_S)


def test_synthesizer_refuses_nan_audio(
    fake: tuple[Synthesizer, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    tts, runner = fake
    monkeypatch.setattr(
        runner, "decoder", lambda asr, *_: (np.full((1, asr.shape[2] * SAMPLES), np.nan, np.float32),)
    )
    with pytest.raises(BundleError, match="not finite"):
        tts.from_phonemes("ab")
