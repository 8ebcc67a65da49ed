"""Any text is planned, or refused with a message."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from toy_bundle import FakeRunner, write_bundle

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import SpeechWarning, Synthesizer, Voices, read_bundle
from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd

BUCKETS = {"tokens": [512], "frames": [5120]}
WRITTEN = """
[pause:0.5s] [pause: [rate:2] [rate:] [voice:bf_emma] [voice:] [voice:x] [a](/ˈa/) [a](/☃/) [b](+1) [5](#a#)
<speak> </speak> <speak>a</speak> <break/> &amp; &#0; <br> <!-- **a** _b_ `c` ~~d~~ [a](https://b.c) ![a](b)
| # $5M £3.50 5°C 3/4 10:30pm 2024-03-15 555-0123 VIII Dr. a@b.c #tag @you 😀 👩‍👩‍👧 🇫🇷 ½ x² № ‰ … — “ ” « »
中文 日本語 हिन्दी العربية ﷺ
"""
HIDDEN = ("\u0301", "\u200b", "\u202e", "\ufeff", "\n\n", "\n", " ", "\t", "\0", "\ud800", "\n- ", "\n1. ")
FRAGMENTS = [*WRITTEN.split(), *HIDDEN]
PLANES = [
    (0x20, 0x7F),
    (0xA0, 0x250),
    (0x250, 0x2000),
    (0x2000, 0x3100),
    (0x3100, 0xD7FF),
    (0x10000, 0x1FFFF),
]
LONG = [
    "a",
    "a ",
    "a. ",
    "!",
    "[",
    "[a",
    "](/",
    "<",
    "<b>",
    "&",
    "*a ",
    "_",
    "1",
    "1,",
    "$",
    "a@",
    "😀",
    "\n",
]
texts = st.lists(
    st.one_of(st.sampled_from(FRAGMENTS), st.text(st.characters(exclude_categories=[]), max_size=8)),
    max_size=12,
).map("".join)


@pytest.fixture(scope="module")
def tts(front_end_files: Path, tmp_path_factory: pytest.TempPathFactory) -> Synthesizer:
    """Small model with the real front end."""
    bundle = read_bundle(write_bundle(tmp_path_factory.mktemp("any") / "bundle", buckets=BUCKETS))
    front_end = FrontEnd(FrontEndFile.open(front_end_files / "front_end.safetensors"))
    return Synthesizer.from_parts(bundle, FakeRunner(), Voices.open(bundle), front_end)


def check(tts: Synthesizer, text: str) -> bool:
    """Plan a text; return whether it was accepted."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SpeechWarning)
        try:
            plan = tts.plan(text)
        except InputError as error:
            assert str(error)[-1] in ".;)" and "\n" not in str(error)
            return False
    places = [(word.start, word.end) for word in plan.words]
    assert all(0 <= start <= end <= len(text) for start, end in places)
    assert [start for start, _ in places] == sorted(start for start, _ in places)
    assert plan.samples > 0
    return True


@pytest.mark.filterwarnings("ignore::kokoro_tvm.runtime.SpeechWarning")
@pytest.mark.parametrize("text", ["**a**", "[pause:1s] a"])
def test_plan_refuses_text_without_known_phonemes(tts: Synthesizer, text: str) -> None:
    """The small model lacks the "ɐ" of "a"."""
    with pytest.raises(InputError, match="knows none of the text's phonemes"):
        tts.plan(text)


@settings(max_examples=150)
@given(text=texts)
@example(text="№\n№")
def test_any_text_is_planned_or_refused(tts: Synthesizer, text: str) -> None:
    check(tts, text)


@pytest.mark.nightly
def test_twenty_thousand_texts_are_planned_or_refused(tts: Synthesizer) -> None:
    draw = random.Random(20_000)

    def part() -> str:
        if draw.random() < 0.4:
            return draw.choice(FRAGMENTS)
        low, high = draw.choice(PLANES)
        return "".join(chr(draw.randrange(low, high)) for _ in range(draw.randrange(1, 9)))

    spoken = sum(check(tts, "".join(part() for _ in range(draw.randrange(1, 10)))) for _ in range(20_000))
    assert 5_000 < spoken < 20_000


@pytest.mark.nightly
@pytest.mark.parametrize("unit", LONG)
def test_long_texts_are_planned(tts: Synthesizer, unit: str) -> None:
    """Quadratic time would take hours."""
    check(tts, unit * (60_000 // len(unit)))
