"""The first utterance in two pieces: prosody, words and samples of both are those of the whole."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from letters import read_letters
from toy_bundle import FakeRunner

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import Division, Plan, Speech, Synthesizer
from kokoro_tvm.runtime.speech.division import MIN_PART, cut_piece
from kokoro_tvm.runtime.speech.piece import HALO_FRAMES, Piece, Word
from kokoro_tvm.runtime.speech.rendering import digest_of

TEXT = "Odd egg hid a cab bed. Dog ran."
FRAMES = 60  # of the first part
UNCUT = Division(first_s=math.inf, least=0)
CUT = replace(UNCUT, first_s=FRAMES * 10 / 24_000)


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kokoro_tvm.runtime.speech.sentences.phonemize_sentence", read_letters)


class Recorder(FakeRunner):
    """Remembers the curves of f0 that the decoder gets."""

    def __init__(self) -> None:
        super().__init__()
        self.curves: list[np.ndarray] = []

    def decoder_seeded(self, *inputs: np.ndarray) -> Any:
        self.curves.append(inputs[1])
        return super().decoder_seeded(*inputs)


def speak(tts: Synthesizer, division: Division) -> tuple[Speech, list[np.ndarray]]:
    recorder = Recorder()
    speech = Synthesizer.from_parts(tts.bundle, recorder, tts.voices)(TEXT, seed=3, division=division)
    return speech, recorder.curves


def test_first_part_ends_in_time(fake_synthesizer: Synthesizer) -> None:
    speech, _ = speak(fake_synthesizer, CUT)
    assert speech.plan is not None
    first, second, third = speech.plan.pieces
    assert 10 * MIN_PART <= first.samples(10) <= 10 * FRAMES
    assert first.pause == 0
    assert [first.noise, second.noise, third.noise] == [0, 1, 2]
    assert third.utterance is third  # only the first utterance is cut


def test_parts_have_the_prosody_of_the_whole(fake_synthesizer: Synthesizer) -> None:
    whole, (curve, _) = speak(fake_synthesizer, UNCUT)
    speech, curves = speak(fake_synthesizer, CUT)
    assert whole.plan is not None and speech.plan is not None
    first, second, _ = speech.plan.pieces
    assert first.words + second.words == whole.plan.pieces[0].words
    assert speech.durations.tolist() == whole.durations.tolist()
    assert len(curves) == 3
    for part, own in zip((first, second), curves, strict=False):
        begin, end = part.window()
        np.testing.assert_array_equal(own, curve[:, 2 * begin : 2 * end])
    assert first.window()[1] - second.window()[0] == 2 * HALO_FRAMES


def test_parts_join_without_a_pause(fake_synthesizer: Synthesizer) -> None:
    whole, _ = speak(fake_synthesizer, UNCUT)
    speech, _ = speak(fake_synthesizer, CUT)
    assert speech.plan is not None
    assert speech.audio.size == whole.audio.size == speech.plan.samples
    assert [w.text for w in speech.words] == [w.text for w in whole.words]
    assert [w.source for w in speech.words] == [w.source for w in whole.words]
    cut = speech.plan.pieces[0].samples(10)
    for word, same in zip(speech.words, whole.words, strict=True):
        # A word that begins before the cut by its time begins at the cut.
        assert (word.start_sample, word.end_sample) == (
            same.start_sample if word.piece == 0 else max(cut, same.start_sample),
            same.end_sample if word.piece else min(cut, same.end_sample),
        )
    fade = round(0.010 * 24_000)
    # The first part's noise is that of the whole, and this decoder is local.
    kept = slice(0, cut - fade)
    np.testing.assert_array_equal(speech.audio[kept], whole.audio[kept])


def test_streams_plans_and_speech_of_parts_are_equal(fake_synthesizer: Synthesizer) -> None:
    speech = fake_synthesizer(TEXT, seed=3, division=CUT)
    chunks = list(fake_synthesizer.stream(iter(TEXT), seed=3, division=CUT))
    plan = fake_synthesizer.plan(TEXT, seed=3, division=CUT)
    assert plan == speech.plan == Plan.from_json(plan.to_json())
    assert np.concatenate([chunk.audio for chunk in chunks]).tobytes() == speech.audio.tobytes()
    assert [word for chunk in chunks for word in chunk.words] == list(speech.words)
    assert fake_synthesizer.render(plan).audio.tobytes() == speech.audio.tobytes()
    assert fake_synthesizer.render(plan, pieces=[1]).audio.tobytes() == chunks[1].audio.tobytes()
    resumed = list(fake_synthesizer.stream(TEXT, seed=3, division=CUT, skip=1))
    assert resumed[1].audio.tobytes() == chunks[1].audio.tobytes()


def test_plan_without_context_is_read(fake_synthesizer: Synthesizer) -> None:
    plan = fake_synthesizer.plan(TEXT, division=UNCUT)
    node = json.loads(plan.to_json())
    for piece in node["pieces"]:
        del piece["before"], piece["after"]
    assert Plan.from_json(json.dumps(node)) == plan


def test_edited_parts_are_completed(fake_synthesizer: Synthesizer) -> None:
    plan = fake_synthesizer.plan(TEXT, division=CUT)
    again = fake_synthesizer.complete(plan.with_phonemes(1, 0, plan.pieces[1].words[0].phonemes))
    assert again == plan
    slow = plan.with_samples(2 * plan.samples)
    assert fake_synthesizer.render(slow).audio.size == 2 * plan.samples


def test_digest_depends_on_the_context(fake_synthesizer: Synthesizer) -> None:
    plan = fake_synthesizer.plan(TEXT, division=CUT)
    table, bundle = fake_synthesizer.voices.table(plan.voice), fake_synthesizer.bundle
    second = plan.pieces[1]
    moved = replace(second, before=tuple(replace(w, text="", start=0, end=0) for w in second.before))
    other = replace(second, before=second.before[1:])
    assert digest_of(bundle, table, plan, moved) == digest_of(bundle, table, plan, second)
    assert digest_of(bundle, table, plan, other) != digest_of(bundle, table, plan, second)


def test_pitch_of_a_part_reaches_its_window(fake_synthesizer: Synthesizer) -> None:
    plan = fake_synthesizer.plan(TEXT, division=CUT)
    recorder = Recorder()
    tts = Synthesizer.from_parts(fake_synthesizer.bundle, recorder, fake_synthesizer.voices)
    tts.render(plan)
    tts.render(plan.with_pitch(1.5))
    for own, higher in zip(recorder.curves[:3], recorder.curves[3:], strict=True):
        np.testing.assert_allclose(higher, np.float32(1.5) * own, rtol=1e-6)


def test_phonemes_are_never_cut(fake_synthesizer: Synthesizer) -> None:
    plan = fake_synthesizer.plan_phonemes("odd egg hid a cab bed dog man and cab bed")
    assert len(plan.pieces) == 1


def piece_of(*words: tuple[str, int, int]) -> Piece:
    """Return a piece of words: phonemes, frames of the last one, and of the space (0: none)."""
    made = [
        Word(
            phonemes,
            0,
            1,
            phonemes,
            " " * (space > 0),
            (*[5] * (len(phonemes) - 1), last, *[space] * (space > 0)),
        )
        for phonemes, last, space in words
    ]
    return Piece(tuple(made), lead=10, tail=10)


@pytest.mark.parametrize(
    ("words", "place"),
    [
        # The last place within 100 frames, before the frames of the space.
        ([("lalalalalal", 5, 2), ("mama", 5, 2), ("nana", 5, 2), ("lalalalalala", 5, 0)], 2),
        # A stop is quieter than a vowel, also behind a mark of stress.
        ([("lalalalalal", 5, 2), ("ˈpama", 5, 2), ("nana", 5, 2), ("lalalalalala", 5, 0)], 1),
        # A pause is quieter than a stop.
        ([("lalalalal", 6, 2), ("ˈpama", 5, 2), ("pana", 5, 2), ("lalalalalala", 5, 0)], 1),
        # Words without a space between them, or marks, are no place.
        ([("lalalalalal", 5, 0), ("mama", 5, 0), ("nana", 5, 0), ("lalalalalala", 5, 0)], None),
        ([("lalalalalal", 5, 2), (",", 9, 2), ("nanananana", 5, 2), ("lalalalalala", 5, 0)], None),
        # Parts of less than 40 frames are not heard alone.
        ([("lala", 5, 2), ("nananananananananananana", 5, 0)], None),
        ([("lalalalalala", 5, 2), ("mama", 5, 0)], None),
    ],
)
def test_cut_piece_chooses_the_quietest_place(words: list[tuple[str, int, int]], place: int | None) -> None:
    piece = piece_of(*words)
    parts = cut_piece(piece, 100, speed=1.0)
    if place is None:
        assert parts == (piece,)
        return
    first, second = parts
    assert (first.words, first.after) == (piece.words[:place], piece.words[place:])
    assert (second.before, second.words) == (piece.words[:place], piece.words[place:])


def test_short_piece_is_not_cut() -> None:
    piece = piece_of(("lalalalalal", 5, 2), ("mamamamama", 5, 0))
    assert cut_piece(piece, piece.frames, speed=1.0) == (piece,)
    assert len(cut_piece(piece, piece.frames - 1, speed=1.0)) == 2


@pytest.mark.parametrize("seconds", [0, -1.0, math.nan, "2", None, True])
def test_division_refuses_seconds(seconds: Any) -> None:
    with pytest.raises(InputError, match="'first_s' of a division should be a number of seconds above 0"):
        Division(first_s=seconds)
