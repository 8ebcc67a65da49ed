"""Captions in every format."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from letters import read_letters

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import TimedPhoneme, TimedWord
from kokoro_tvm.runtime.documents.captions import CAPTIONS, caption_format, format_time, write_captions
from kokoro_tvm.runtime.documents.captions.lines import (
    MAX_CHARACTERS,
    MAX_LINES,
    MAX_SECONDS,
    split_into_cues,
)

RATE = 1000


def timed(text: str, step: int = 200) -> list[TimedWord]:
    """Return a timeline of a text: words of 0.15 s with 0.05 s between them."""
    line, now = [], 0
    for found in re.finditer(r"\w+|[^\w\s]+", text):
        spoken = found[0][0].isalnum()
        length = step * 3 // 4 if spoken else 0
        phonemes = (TimedPhoneme("a", now, now + length, RATE),) if spoken else ()
        joined = found.start() > 0 and not text[found.start() - 1].isspace()
        line.append(
            TimedWord(found[0], found.span(), now, now + length, RATE, phonemes, spoken, 0, joined=joined)
        )
        now += step if spoken else 0
    return line


TEXT = (
    "“Well,” she said (at last), “it is 5 & more <b>than</b> I thought; nobody, not even Ann-Marie, would "
    "have believed that it could go on for so long without anybody noticing!” No. Then… silence."
)
TEXTS = st.lists(
    st.sampled_from(
        ["a", "word", "incomprehensibilities", "it's", ",", ". ", "! ", " (", ") ", " “", "” ", " ", "—"]
    ),
    max_size=60,
).map("".join)


@given(TEXTS, st.sampled_from([100, 400, 2000]))
def test_cues_show_every_word_once(text: str, step: int) -> None:
    line = timed(text, step)
    found = split_into_cues(line)
    if any(word.spoken for word in line):
        assert "".join("".join(cue.text for cue in found).split()) == "".join(w.text for w in line)
    assert [cue.start for cue in found] == sorted(cue.start for cue in found)
    for cue in found:
        words = [word for shown in cue.lines for word in shown]
        assert cue.start == words[0].start and cue.end == words[-1].end
        joined = all(word.joined for word in words[1:])
        if not joined:
            assert cue.end - cue.start <= MAX_SECONDS or len(words) == 2
            assert len(cue.lines) <= max(MAX_LINES, len(words))


@pytest.mark.parametrize("step", [100, 300])
def test_cues_respect_the_limits(step: int) -> None:
    found = split_into_cues(timed(TEXT, step))
    shown = " ".join(" ".join(cue.text.split()) for cue in found)
    assert shown == TEXT
    for cue in found:
        assert len(cue.lines) <= MAX_LINES
        assert all(len(line) <= MAX_CHARACTERS for line in cue.text.split("\n"))
        assert cue.end - cue.start <= MAX_SECONDS
    assert [cue.text for cue in found][-2:] == ["No.", "Then…"] or found[-1].text == "silence."


def test_cues_show_a_divided_word_once() -> None:
    line = timed("cost 100 dollars")
    twice = [*line[:2], line[1], *line[2:]]
    assert [word.text for cue in split_into_cues(twice) for line in cue.lines for word in line] == [
        "cost",
        "100",
        "dollars",
    ]


def test_captions_as_srt() -> None:
    text = write_captions("a.srt", timed("Hi you. Go!"), 1.0)
    assert text == "1\n00:00:00,000 --> 00:00:00,350\nHi you.\n\n2\n00:00:00,400 --> 00:00:00,550\nGo!\n"


def test_captions_as_webvtt() -> None:
    text = write_captions("a.VTT", timed("A < b & c."), 1.0)
    assert text.startswith("WEBVTT\n\n00:00:00.000 --> 00:00:00.550\n")
    assert "A &lt; <00:00:00.200>b &amp; <00:00:00.400>c.\n" in text


def test_captions_as_json() -> None:
    node = json.loads(write_captions("a.json", timed("Hi, you."), 0.5))
    assert node["duration"] == 0.5
    assert [word["text"] for word in node["words"]] == ["Hi", ",", "you", "."]
    assert node["words"][2] == {
        "text": "you",
        "source": [4, 7],
        "spoken": True,
        "start": 0.2,
        "end": 0.35,
        "samples": [200, 350],
        "phonemes": [{"symbol": "a", "start": 0.2, "end": 0.35, "samples": [200, 350]}],
    }
    assert node["cues"] == [{"text": "Hi, you.", "start": 0.0, "end": 0.35}]


@given(TEXTS)
def test_captions_as_ass(text: str) -> None:
    written = write_captions("a.ass", timed(text, 333), 9.0)
    for start, end, shown in re.findall(
        r"^Dialogue: 0,([\d:.]+),([\d:.]+),.*?,,(.*)$", written, re.MULTILINE
    ):
        lit = sum(map(int, re.findall(r"\{\\k(\d+)\}", shown)))
        assert lit == round(100 * (seconds(end) - seconds(start)))


def test_ass_replaces_special_characters() -> None:
    assert r"{\k20}a｛{\k15}b" in write_captions("a.ass", timed("a{b"), 1.0)


@given(TEXTS)
def test_textgrid_has_no_gaps(text: str) -> None:
    written = write_captions("a.TextGrid", timed(text), 60.0)
    for tier in written.split("item [")[2:]:
        times = [float(t) for t in re.findall(r"xm(?:in|ax) = ([\d.]+)", tier)][2:]
        assert times[0] == 0 and times[-1] == 60.0
        assert times[1:-1:2] == times[2::2]
        assert len(times) // 2 == int(re.findall(r"size = (\d+)", tier)[0])


def test_textgrid_escapes_quotes() -> None:
    word = TimedWord('a"b', (0, 3), 0, 10, RATE, (), True, 0)
    assert 'text = "a""b"' in write_captions("a.textgrid", [word], 1.0)


def seconds(clocked: str) -> float:
    hours, minutes, rest = clocked.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(rest)


@given(st.floats(0, 1e6))
def test_format_time_rounds_to_milliseconds(value: float) -> None:
    assert abs(seconds(format_time(value, ".")) - value) <= 0.000501
    assert re.fullmatch(r"\d{2,}:[0-5]\d:[0-5]\d\.\d{3}", format_time(value, "."))


@pytest.mark.parametrize("name", sorted(CAPTIONS))
def test_captions_of_a_real_and_an_empty_plan(name: str, roomy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kokoro_tvm.runtime.speech.sentences.phonemize_sentence", read_letters)
    speech = roomy[0]("He ran, and he ran on a hand. A big bad dog did that.")
    written = write_captions("a" + name, speech.timeline, speech.audio.size / speech.sample_rate)
    assert written.count("hand") == (2 if name == ".json" else 1)
    assert "hand" not in write_captions("a" + name, (), 0.0)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<speak><emphasis>He</emphasis>, and <sub alias='a man'>MAN</sub>!</speak>", "He, and MAN!"),
        ("<speak>A <phoneme ph='ab'>hand</phoneme>(<emphasis>bad</emphasis>)</speak>", "A hand(bad)"),
        ("A [hand](/ab/), and (the [bad](+1)).", "A hand, and (the bad)."),
        ("A [hand](/ab/)\nand [rate:2]he[rate:], ran", "A hand and he, ran"),
        ("<speak>He ran<voice name='bf_emma'>, and</voice>, he</speak>", "He ran, and, he"),
        ("<speak>He<break time='1s'/>ran,<break/>and<break/>, he</speak>", "He ran, and, he"),
        ("<speak>He ran<break/> “and <break/>“he”</speak>", "He ran “and “he”"),
        ("<speak><p>He ran,</p><p>and</p><p>he</p></speak>", "He ran, and he"),
    ],
)
@pytest.mark.filterwarnings("ignore::kokoro_tvm.runtime.SpeechWarning")
def test_captions_ignore_markup(text: str, shown: str, roomy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tag or link adds no space before the next mark."""
    monkeypatch.setattr("kokoro_tvm.runtime.speech.sentences.phonemize_sentence", read_letters)
    found = split_into_cues(roomy[0](text).timeline)
    assert " ".join(" ".join(cue.text.split()) for cue in found) == shown


def test_caption_format_refuses_other_suffixes() -> None:
    assert caption_format("x/Y.TextGrid") == ".textgrid"
    with pytest.raises(InputError, match=r"a\.txt: captions are written as \.ass, \.json"):
        caption_format("a.txt")
