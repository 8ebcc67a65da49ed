"""Plans: content, edits, JSON and errors."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from letters import read_letters
from toy_bundle import SAMPLES

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import Piece, Plan, Synthesizer, TooLongError, Word

TEXT = "He ran, and he ran on. A big bad dog did that.\n\nIt cost 5 a day."


@pytest.fixture
def tts(roomy: tuple[Synthesizer, Any], monkeypatch: pytest.MonkeyPatch) -> Synthesizer:
    monkeypatch.setattr("kokoro_tvm.runtime.speech.sentences.phonemize_sentence", read_letters)
    return roomy[0]


@pytest.fixture
def plan(tts: Synthesizer) -> Plan:
    return tts.plan(TEXT)


def test_plan_describes_the_rendered_speech(tts: Synthesizer, plan: Plan) -> None:
    calls = tts.runner.calls  # type: ignore[attr-defined]
    assert {name for name, _ in calls} == {"bert", "duration"}
    speech = tts.render(plan)
    assert speech.audio.size == plan.samples
    assert np.array_equal(speech.audio, tts(TEXT).audio)
    assert speech.plan == plan


def test_plan_words_have_spans_in_the_source(plan: Plan) -> None:
    assert all(TEXT[word.start : word.end] == word.text for word in plan.words)
    assert [word.text for word in plan.words if word.spoken] == TEXT.replace(",", "").replace(".", "").split()
    (cost,) = (word for word in plan.words if word.text == "5")
    assert (cost.phonemes, cost.space) == ("ab cd", " ")


@given(speed=st.sampled_from([0.5, 0.9, 1.0, 1.7]), seed=st.integers(0, 3))
def test_plan_json_round_trips(fake_synthesizer: Synthesizer, speed: float, seed: int) -> None:
    plan = fake_synthesizer.plan_phonemes(["ab, cd.", "ef gh… ab"], speed=speed, seed=seed)
    again = Plan.from_json(plan.to_json())
    assert again == plan
    assert np.array_equal(fake_synthesizer.render(again).audio, fake_synthesizer.render(plan).audio)


def test_render_renders_single_pieces(tts: Synthesizer, plan: Plan) -> None:
    whole, start = tts.render(plan).audio, 0
    assert len(plan.pieces) > 2
    for number, piece in enumerate(plan.pieces):
        alone = tts.render(plan, [number]).audio
        assert np.array_equal(alone, whole[start : start + alone.size])
        assert alone.size == piece.samples(SAMPLES)
        start += alone.size


def test_with_durations_changes_a_word(tts: Synthesizer, plan: Plan) -> None:
    word = plan.pieces[0].words[0]
    longer = plan.with_durations(0, 0, [d + 2 for d in word.durations or ()])
    grown = 2 * len(word.symbols) * SAMPLES
    assert longer.samples == plan.samples + grown
    assert tts.render(longer).audio.size == longer.samples
    assert tts.render(longer).words[1].start_sample == tts.render(plan).words[1].start_sample + grown


def test_with_pause_changes_a_pause(tts: Synthesizer, plan: Plan) -> None:
    paused = plan.with_pause(0, 1.5)
    assert paused.samples == plan.samples - plan.pieces[0].pause + 36000
    assert tts.render(paused).audio.size == paused.samples


def test_with_phonemes_changes_a_word(tts: Synthesizer, plan: Plan) -> None:
    changed = plan.with_phonemes(0, 1, "gəgə")
    assert not changed.complete
    with pytest.raises(InputError, match="not known yet: its phonemes were changed"):
        _ = changed.samples
    completed = tts.complete(changed)
    assert completed.pieces[0].words[0] == plan.pieces[0].words[0]
    assert np.array_equal(tts.render(changed).audio, tts.render(completed).audio)
    assert tts.render(changed).audio.size == completed.samples


def test_with_pitch_scales_f0(tts: Synthesizer, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    f0: list[np.ndarray] = []
    decoder = tts.runner.decoder  # type: ignore[attr-defined]
    monkeypatch.setattr(tts.runner, "decoder", lambda asr, p, *rest: f0.append(p) or decoder(asr, p, *rest))
    tts.render(plan, [0])
    tts.render(plan.with_pitch(1.5), [0])
    np.testing.assert_allclose(f0[1], 1.5 * f0[0], rtol=1e-6)
    tts.render(plan.with_pitch([1.0, 2.0], piece=0), [0])
    np.testing.assert_allclose(f0[2] / f0[0], np.linspace(1, 2, f0[0].size)[None], rtol=1e-6)
    tts.render(plan.with_pitch(2.0, piece=0, word=0), [0])
    changed = np.flatnonzero(f0[3] != f0[0])
    first = 2 * plan.pieces[0].lead
    assert changed.tolist() == list(range(first, first + 2 * plan.pieces[0].words[0].frames))
    tts.render(plan.with_pitch(1.0), [0])
    assert np.array_equal(f0[4], f0[0])


@given(share=st.floats(0.6, 3.0), odd=st.integers(0, 20))
def test_with_samples_meets_the_length(fake_synthesizer: Synthesizer, share: float, odd: int) -> None:
    plan = fake_synthesizer.plan_phonemes(["abc dim, cab.", "ab cd hof."])
    target = int(plan.samples * share) + odd
    fitted = plan.with_samples(target)
    assert fitted.samples == target
    assert fake_synthesizer.render(fitted).audio.size == target
    assert [p.symbols for p in fitted.pieces] == [p.symbols for p in plan.pieces]


def test_with_samples_refuses_short_lengths(plan: Plan) -> None:
    with pytest.raises(InputError, match="takes at least"):
        plan.with_samples(100)
    with pytest.raises(InputError, match="length"):
        plan.with_seconds(float("nan"))
    assert plan.with_seconds(2.0).samples == 48000


def test_render_refuses_long_pieces(tts: Synthesizer, plan: Plan) -> None:
    word = plan.pieces[0].words[0]
    with pytest.raises(TooLongError, match=r"^Piece 0 of the plan needs \d+ frames"):
        tts.render(plan.with_durations(0, 0, [3000] * len(word.symbols)))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("whole", [np.int64, np.uint8])
def test_plan_accepts_numpy_numbers(tts: Synthesizer, plan: Plan, kind: Any, whole: Any) -> None:
    """Arithmetic on durations gives numpy numbers."""

    def edited(whole: Any, real: Any, row: Any) -> Plan:
        word = plan.pieces[whole(0)].words[0]
        changed = plan.with_durations(whole(0), whole(0), row([d + 2 for d in word.known_durations], whole))
        changed = changed.with_pause(whole(0), real(0.5)).with_pitch(real(1.25), whole(0), whole(1))
        changed = changed.with_pitch(row([1.0, 1.5], real), piece=whole(1))
        changed = replace(changed, speed=real(1.5), seed=whole(7))
        piece = replace(changed.pieces[0], lead=whole(3), keep=(whole(5), None), style=whole(2))
        return changed.with_piece(whole(0), piece).with_seconds(real(2.5))

    ours = edited(int, float, lambda values, kind: [kind(value) for value in values])
    theirs = edited(whole, kind, np.array)
    assert theirs == ours
    assert theirs.to_json() == ours.to_json()
    assert np.array_equal(tts.render(theirs, [whole(0)]).audio, tts.render(ours, [0]).audio)


WORD = Word("a", 0, 1, "a", "", (1,))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: replace(WORD, durations=(-3,)), "duration in 'a' should be within 1"),
        (lambda: replace(WORD, durations=(0,)), "within 1"),
        (lambda: replace(WORD, durations=(1, 2)), "2 durations for its 1 symbols"),
        (lambda: replace(WORD, durations=(1.5,)), "whole number, but is 1.5"),
        (lambda: replace(WORD, durations=(1 << 60,)), "within"),
        (lambda: replace(WORD, pitch=0.0), "factor from 0.1"),
        (lambda: replace(WORD, pitch=float("nan")), "finite"),
        (lambda: replace(WORD, start=5), "before its start"),
        (lambda: replace(WORD, space="x"), "should be spaces"),
        (lambda: Piece((WORD,), lead=0), "lead of a piece"),
        (lambda: Piece((WORD,), pause=-1), "pause of a piece"),
        (lambda: Piece((WORD,), keep=(-1, None)), "keeps should be"),
        (lambda: Piece((WORD,), pitch=()), "at least one factor"),
        (lambda: Piece((replace(WORD, phonemes="", durations=()),)), "no phonemes"),
        (lambda: Plan((Piece((WORD,), pause=10**9),), "v"), "3600 s is the longest"),
        (lambda: Plan((Piece((WORD,), pause=10**5000),), "v"), "3600 s is the longest"),
        (lambda: Plan((), "v", speed=0.0), "above 0"),
        (lambda: Plan((), "v", seed=-1), "seed of a plan"),
        (lambda: Plan((), "v", seed=2**64), "seed of a plan should be within 0..18446744073709551615"),
        (lambda: Plan((), "v", speed=10**400), "speed of a plan should be a finite number"),
        (lambda: Plan((), "v", speed=np.float32("nan")), "speed of a plan should be a finite number"),
        (lambda: Plan((), "v", speed=np.True_), "speed of a plan should be a finite number"),
        (lambda: Plan((Piece((WORD,)),), "v").with_pitch(None), "pitch should be a factor or a row of them"),
        (lambda: Plan((Piece((WORD,)),), "v").with_durations(0, 0, None), "durations should be a row of"),
        (lambda: Plan((Piece((WORD,)),), "v").with_durations(0, 0, 3), "durations should be a row of"),
        (lambda: Plan((Piece((WORD,)),), "v").with_pause(np.float32(0), 1.0), "no piece of the plan"),
        (lambda: Plan((), "v").with_piece(0, Piece(())), "no piece of the plan with number 0"),
        (lambda: Plan((Piece((WORD,)),), "v").with_pause(0, -1.0), "pause should last"),
        (lambda: Plan((Piece((WORD,)),), "v").with_pause(0, float("inf")), "finite"),
        (lambda: Plan((Piece((WORD,)),), "v").with_phonemes(0, 3, "a"), "word of piece 0"),
        (lambda: Plan((Piece((WORD,)),), "v").with_pitch([1.0, 2.0], 0, 0), "single factor"),
    ],
)
def test_plan_refuses_invalid_values(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda node: node.update(schema=2), "schema 2.*reads 1"),
        (lambda node: node.update(pieces={}), "'pieces' of the plan should be a list"),
        (lambda node: node.update(speed="fast"), "'speed' of the plan should be a number"),
        (lambda node: node.update(extra=1), "unknown field 'extra'"),
        (lambda node: node["pieces"][0].pop("words"), r"'words' of pieces\[0\]"),
        (lambda node: node["pieces"][0]["words"][1].pop("text"), r"pieces\[0\].words\[1\] lacks 'text'"),
        (
            lambda node: node["pieces"][0]["words"][0].update(durations=[1]),
            r"words\[0\]: The word 'He' has 1",
        ),
        (lambda node: node["pieces"][0]["words"][0].update(durations=[-1, 2, 3]), "should be within 1"),
        (lambda node: node["pieces"].__setitem__(0, 7), r"pieces\[0\] should be a JSON object"),
        (lambda node: node["pieces"][0].update(pause=True), "'pause'"),
        (lambda node: node["pieces"][0].update(keep=["a", 1]), "keeps should be a whole number"),
    ],
)
def test_from_json_names_the_place_of_a_mistake(plan: Plan, change: Any, message: str) -> None:
    node = json.loads(plan.to_json())
    change(node)
    with pytest.raises(InputError, match=message):
        Plan.from_json(json.dumps(node))


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, "null"])
def test_from_json_refuses_other_json(text: str) -> None:
    with pytest.raises(InputError, match="he plan"):
        Plan.from_json(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"voice": "af_hart"}, "Nearest: af_heart"),
        ({"sample_rate": 16000}, "The plan is for 16000 Hz"),
        ({"pieces": ()}, "no pieces"),
        ({"pieces": (Piece((WORD,), style=9999),)}, "style 9999"),
        ({"pieces": (Piece((replace(WORD, phonemes="Z"),)),)}, "does not know: Z"),
    ],
)
def test_render_refuses_plans_of_other_bundles(
    tts: Synthesizer, plan: Plan, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        tts.render(replace(plan, **change))


def test_plan_does_not_stretch_the_ends(tts: Synthesizer) -> None:
    plans = {speed: tts.plan("A bad dog.", speed=speed) for speed in (0.5, 1.0, 2.0)}
    ends = {speed: (plan.pieces[0].lead, plan.pieces[0].tail) for speed, plan in plans.items()}
    assert ends[0.5] == ends[1.0]
    inner = [sum(word.frames for word in plans[speed].words) for speed in (0.5, 1.0)]
    assert inner[0] == 2 * inner[1]


def test_run_stretches_the_ends_like_stock(tts: Synthesizer) -> None:
    style = np.array([0.5, -1.0, 0.25, 2.0], np.float32)
    slow, plain = (tts.run([3, 5, 3], style, speed=speed).durations for speed in (0.5, 1.0))
    assert slow.tolist() == (2 * plain).tolist()


def test_plan_accepts_silent_pieces(tts: Synthesizer, plan: Plan) -> None:
    longer = replace(plan, pieces=(Piece((), pause=777), *plan.pieces))
    speech = tts.render(longer)
    assert speech.audio.size == plan.samples + 777
    assert not speech.audio[:777].any()
    assert speech.words[0].start_sample >= 777


def test_render_mutes_long_marks_of_texts(tts: Synthesizer) -> None:
    """A second is long here: the toy's frames are short."""
    plan = tts.plan("He ran, and ran.")
    place = next(n for n, word in enumerate(plan.pieces[0].words) if word.text == ",")
    plan = plan.with_durations(0, place, [2000, 1])
    assert plan.mute
    audio = tts.render(plan).audio
    before = (plan.pieces[0].lead + sum(w.frames for w in plan.pieces[0].words[:place])) * SAMPLES
    assert not audio[before + 2000 : before + 20000 - 4000].any()
    plain = replace(plan, mute=False)
    assert tts.render(plain).audio[before : before + 20000].all()
    assert not tts.plan_phonemes("ab").mute
