"""Streams: equality with whole speech, latency, memory and cancellation."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from letters import read_letters
from toy_bundle import FakeRunner

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import Division, Pauses, SpeechWarning, Synthesizer

LONG = "He ran home, and then he ran back on a hand. A big bad dog did it. No.\n\nGo on and on, dim cab."
WORDS = st.lists(
    st.sampled_from(["Bad", "dog", "he", "a", ",", ".", "!", "\n\n", "cab", "5", "—"]), min_size=1
)


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kokoro_tvm.runtime.speech.sentences.phonemize_sentence", read_letters)


@given(WORDS, st.integers(1, 9), st.sampled_from([0.7, 1.0, 2.0]))
def test_stream_chunks_join_to_the_speech(
    fake_synthesizer: Synthesizer, words: list[str], size: int, speed: float
) -> None:
    text = "A " + " ".join(words)
    whole = fake_synthesizer(text, speed=speed, seed=3)
    portions = (text[place : place + size] for place in range(0, len(text), size))
    chunks = list(fake_synthesizer.stream(portions, speed=speed, seed=3))
    assert np.concatenate([chunk.audio for chunk in chunks]).tobytes() == whole.audio.tobytes()
    assert [word for chunk in chunks for word in chunk.words] == list(whole.words)
    assert whole.audio.size == fake_synthesizer.plan(text, speed=speed, seed=3).samples
    assert [chunk.start for chunk in chunks] == [0, *np.cumsum([c.audio.size for c in chunks])[:-1].tolist()]


def test_stream_begins_with_the_first_clause(roomy: tuple[Synthesizer, FakeRunner]) -> None:
    tts, runner = roomy
    read: list[str] = []

    def portions() -> Iterator[str]:
        for word in LONG.split(" "):
            read.append(word)
            yield word + " "

    stream = tts.stream(portions(), division=Division(first=20, least=5))
    first = next(stream)
    assert "".join(word.text for word in first.timeline) == "Heranhome,"
    assert [name for name, _ in runner.calls].count("decoder_seeded") == 1
    assert read[-1] == "A"  # the letter after the first sentence shows that it has ended


def test_stream_stops_when_dropped(roomy: tuple[Synthesizer, FakeRunner]) -> None:
    tts, runner = roomy
    for chunk in tts.stream(LONG):
        assert chunk.audio.size
        break
    count = len(runner.calls)
    gc.collect()
    assert len(runner.calls) == count


@pytest.mark.parametrize("component", ["bert", "duration", "text_encoder", "f0n", "decoder_seeded"])
def test_stream_closes_from_another_thread(
    roomy: tuple[Synthesizer, FakeRunner], monkeypatch: pytest.MonkeyPatch, component: str
) -> None:
    tts, runner = roomy
    stream = tts.stream(LONG)
    function = getattr(runner, component)

    def closing(*inputs: Any) -> Any:
        thread = threading.Thread(target=stream.close)
        thread.start()
        thread.join()
        return function(*inputs)

    monkeypatch.setattr(runner, component, closing)
    chunks = list(stream)
    assert runner.calls[-1][0] == component
    assert chunks == []
    assert list(stream) == []


def test_closed_stream_is_empty(roomy: tuple[Synthesizer, FakeRunner]) -> None:
    tts, runner = roomy
    with tts.stream(LONG) as stream:
        next(stream)
    count = len(runner.calls)
    assert list(stream) == []
    assert len(runner.calls) == count


def test_stream_skips_pieces(roomy: tuple[Synthesizer, FakeRunner]) -> None:
    tts, runner = roomy
    whole = list(tts.stream(LONG))
    runner.calls.clear()
    again = list(tts.stream(LONG, skip=2))
    assert [chunk.audio.size for chunk in again[:2]] == [0, 0]
    assert [chunk.start for chunk in again] == [chunk.start for chunk in whole]
    assert all(np.array_equal(a.audio, b.audio) for a, b in zip(again[2:], whole[2:], strict=True))
    assert [name for name, _ in runner.calls].count("decoder_seeded") == len(whole) - 2


def test_stream_memory_is_constant(roomy: tuple[Synthesizer, FakeRunner]) -> None:
    tts, runner = roomy

    def book() -> Iterator[str]:
        while True:
            yield "He ran home and back. A big bad dog did it, and how!\n\n"

    stream = tts.stream(book())
    for _ in range(20):
        next(stream)
    tracemalloc.start()
    for _ in range(50):
        next(stream)
        runner.calls.clear()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(200):
        next(stream)
        runner.calls.clear()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 30_000


def test_stream_joins_short_sentences(roomy: tuple[Synthesizer, FakeRunner]) -> None:
    plan = roomy[0].plan("No. A big bad dog did it. Go.\n\nOn.")
    assert [" ".join(w.text for w in piece.words if w.spoken) for piece in plan.pieces] == [
        "No A big bad dog did it",
        "Go",
        "On",
    ]


def test_stream_divides_long_sentences_at_clauses(roomy: tuple[Synthesizer, FakeRunner]) -> None:
    text = "a bad dog, " * 8 + "he said."
    plan = roomy[0].plan(text, division=Division(most=40))
    assert all(len(piece.symbols) <= 40 for piece in plan.pieces)
    assert all(piece.symbols.endswith((",", ".")) for piece in plan.pieces)
    assert "".join(word.text for word in plan.words) == text.replace(" ", "")


def test_pauses_depend_on_punctuation(roomy: tuple[Synthesizer, FakeRunner]) -> None:
    tts, _ = roomy
    pauses = Pauses(sentence=0.5, ellipsis=0.7, paragraph=0.9, comma=0.3, semicolon=0.4)
    text = "A big bad dog did it. He ran home and back… He ran home and back!\n\nHe ran home."
    for speed in (1.0, 2.0):
        plan = tts.plan(text, pauses=pauses, speed=speed)
        keeps = [p.keep for p in plan.pieces]
        total = [
            before[1] + piece.pause + after[0]  # type: ignore[operator]
            for piece, before, after in zip(plan.pieces, keeps, keeps[1:], strict=False)
        ]
        assert total == [round(s * 24000 / speed) for s in (0.5, 0.7, 0.9)]
        assert (plan.pieces[0].keep[0], plan.pieces[-1].keep[1], plan.pieces[-1].pause) == (None, None, 0)


@pytest.mark.parametrize("value", [-1, float("nan"), "long", True, 61])
def test_pauses_refuse_invalid_values(value: Any) -> None:
    with pytest.raises(InputError, match="The pause 'sentence' should be"):
        Pauses(sentence=value)


@pytest.mark.parametrize("options", [{"first": -1}, {"least": 2.5}, {"most": 5}, {"most": 0, "least": 0}])
def test_division_refuses_invalid_values(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="division"):
        Division(**options)


def test_stream_refuses_arguments_immediately(roomy: tuple[Synthesizer, FakeRunner]) -> None:
    for options in ({"voice": "no"}, {"speed": 0.0}, {"seed": -1}):
        with pytest.raises(InputError):
            roomy[0].stream("Hi.", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "empty"), ("?", "no letter"), (iter(()), "empty"), (iter(["\x01\x02"]), "no le")],
)
def test_stream_refuses_empty_text(roomy: tuple[Synthesizer, FakeRunner], text: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"nothing to speak.*{message}"):
        roomy[0](text)


def test_stream_names_an_unknown_symbol_once(
    roomy: tuple[Synthesizer, FakeRunner], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.warns(SpeechWarning) as caught:
        roomy[0].from_phonemes(["aZb", "aZYb", "cd"])
    assert [str(w.message).count("U+") for w in caught] == [1, 1]
    assert ["in 'aZb'" in str(w.message) for w in caught] == [True, False]


def test_stream_reads_200_megabytes(roomy: tuple[Synthesizer, FakeRunner]) -> None:
    """Streams accept it; other methods refuse it and name `stream`."""
    tts, runner = roomy
    text = "He ran home and back. " * 9_500_000
    for make in (tts, tts.plan):
        with pytest.raises(InputError, match=r"209000000 characters, about 4180 hours.*Use stream\(\)"):
            make(text)
    assert next(tts.stream(text)).audio.size > 0
    assert len(runner.calls) == 5


@pytest.mark.parametrize("count", [32, pytest.param(500, marks=pytest.mark.nightly)])
def test_streams_run_in_16_threads(compiled: Callable[[str], Path], count: int) -> None:
    """All are correct, and memory stays flat."""
    tts = Synthesizer(compiled("exact"), threads=1)
    texts = [f"He ran {'on ' * (n % 7)}home, and back. A {'bad ' * (n % 5)}dog did it." for n in range(16)]
    expected = [tts(text, seed=n).audio for n, text in enumerate(texts)]

    def speak(n: int) -> bool:
        chunks = [chunk.audio for chunk in tts.stream(texts[n % 16], seed=n % 16)]
        return np.array_equal(np.concatenate(chunks), expected[n % 16])

    with ThreadPoolExecutor(16) as pool:
        tracemalloc.start()
        assert all(pool.map(speak, range(16)))
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        assert all(pool.map(speak, range(count)))
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
    assert grown < 200_000


def test_stream_uses_the_requested_language(roomy: tuple[Synthesizer, FakeRunner]) -> None:
    tts, _ = roomy
    assert tts.plan("Bad.", "af_heart", language="b") == replace(
        tts.plan("Bad.", "bf_emma"), voice="af_heart"
    )
    assert tts.plan("Bad.", language="en-GB") == tts.plan("Bad.", language="b")
    with pytest.raises(InputError, match=r"There is no language 'q'\. Choose one of a \(American English\)"):
        tts.stream("Bad.", language="q")


@given(WORDS)
def test_plan_ahead_keeps_the_audio(fake_synthesizer: Synthesizer, words: list[str]) -> None:
    text = "A " + " ".join(words)
    stream = fake_synthesizer.stream(text, seed=3)
    pieces = []
    while (piece := stream.plan_ahead()) is not None:
        pieces.append(piece)
    chunks = list(stream)
    assert pieces == [chunk.piece for chunk in chunks]
    assert sum(piece.samples(10) for piece in pieces) == sum(chunk.audio.size for chunk in chunks)
    whole = fake_synthesizer(text, seed=3).audio
    assert np.concatenate([chunk.audio for chunk in chunks]).tobytes() == whole.tobytes()
