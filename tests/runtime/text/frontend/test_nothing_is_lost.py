"""Every letter and digit of a text is spoken by a token, or a notice names it."""

from __future__ import annotations

import random
import re
import unicodedata
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from tiers import each_language
from yaml import safe_load

from kokoro_tvm.runtime.prosody import MARKS
from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd, FrontEndResult
from kokoro_tvm.runtime.text.frontend.left_out import find_unspoken
from kokoro_tvm.runtime.text.frontend.normalization import LANGUAGE_FILES
from kokoro_tvm.runtime.text.frontend.source import Link, SourceText
from kokoro_tvm.runtime.text.frontend.tokens import Token
from kokoro_tvm.validation.reference.phonemes import sentences

CASES = Path(__file__).with_name("cases")
TEXTS = (
    *("your otp is ab9453", "The pin is a1b2.", "order ab12 and xy77z", "a rate of .1665", "31/31/100"),
    *("$2.000", "$20.506", "9000,000th", "1/3RD", "y<=3", "①Ⅳ½ x² 1-800-GO-2-HAUL", "Nguyễn", "cafe\u0301"),
    *(
        "Привет, 東京, かな",
        "ﷺ",
        "ʅ’ឧ ㈣ ㈧ 1Ⅳ",
        "ⴺʼኯ",
        "𝐀 USA10𝐀 𝟘",
        "毁ӟ૯Ė㗬",
        "0Uw&",
        "A" * 500,
        "ж" * 500,
        "漢" * 500,
    ),
    *("a_b" * 100, "https://x.com/" + "aGVsbG8g" * 40, "x" * 5000 + "1" * 500),
)
_PLANES = ((32, 127), (32, 0x250), (32, 0x3000), (32, 0xD7FF), (0xE000, 0x30000))
_MARKUP = str.maketrans("", "", "<&[`~\\")  # they may begin markup
DAY, NIGHT = 200, 100_000


@pytest.fixture(scope="module")
def file(front_end_files: Path) -> FrontEndFile:
    return FrontEndFile.open(front_end_files / "front_end.safetensors")


def drawn(count: int, language: str) -> Iterator[str]:
    """Draw random texts of parts of a language's cases, digits, letters and other characters."""
    draw = random.Random(language)
    rows = safe_load((CASES / f"{language}.yaml").read_text(encoding="utf-8"))
    parts = [*" ".join(row["written"] for rows in rows.values() for row in rows).split(), *TEXTS]
    ascii_parts = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'-.,:/$% "
    for _ in range(count):
        text = ""
        for _ in range(draw.randrange(1, 6)):
            kind = draw.randrange(3)
            if kind == 0:
                text += draw.choice(parts).translate(_MARKUP) + draw.choice((" ", ""))
            elif kind == 1:
                text += "".join(draw.choice(ascii_parts) for _ in range(draw.randrange(1, 12)))
            else:
                low, high = draw.choice(_PLANES)
                chars = (chr(draw.randrange(low, high)) for _ in range(draw.randrange(1, 8)))
                text += "".join(chars).translate(_MARKUP)
        yield text


def spoken(reading: FrontEndResult) -> set[int]:
    """Return the places that tokens with a sound stand for."""
    tokens = [token for utterance in reading.utterances for token in utterance.tokens]
    sounding = [t for t in tokens if any(not (c in MARKS or c.isspace()) for c in t.phonemes)]
    return {place for token in sounding for place in range(token.start, token.end)}


def silent(text: str, reading: FrontEndResult) -> str:
    """Return letters and digits of a text that are not spoken."""
    places = spoken(reading)
    return "".join(char for place, char in enumerate(text) if char.isalnum() and place not in places)


def lost(text: str, code: str, front_end: FrontEnd) -> str:
    """Return letters and digits that are neither spoken nor in a notice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of packages
        reading = front_end.read(SourceText.of(text), code)
    notices = unicodedata.normalize("NFD", " ".join(reading.notices))
    written = re.sub(r"(?<=\w)ʼ(?=\w)", "'", text)
    return "".join(
        char for char in silent(written, reading) if unicodedata.normalize("NFD", char)[0] not in notices
    )


@pytest.mark.parametrize("code", each_language("abefhijpz"))
def test_front_end_loses_nothing_silently(file: FrontEndFile, code: str) -> None:
    front_end = FrontEnd(file)
    texts = [*TEXTS, *drawn(DAY, LANGUAGE_FILES[code])]
    assert [(text, found) for text in texts if (found := lost(text, code, front_end))] == []


@pytest.mark.nightly
def test_front_end_loses_nothing_of_100_000_texts(file: FrontEndFile) -> None:
    front_end = FrontEnd(file)
    assert [(text, found) for text in drawn(NIGHT, "en") if (found := lost(text, "a", front_end))] == []


@pytest.mark.parametrize("code", ["a", "e", "f", "h", "i", "p"])
def test_front_end_speaks_every_letter_of_a_language(file: FrontEndFile, code: str) -> None:
    """Its cases, digits and ASCII letters are never left out."""
    front_end = FrontEnd(file)
    texts = [text for text in drawn(DAY, LANGUAGE_FILES[code]) if text.isascii()]
    texts += sentences()[::40] if code == "a" else []
    assert len(texts) > DAY / 10
    found = [(text, silent(text, front_end.read(SourceText.of(text), code))) for text in texts]
    assert [(text, chars) for text, chars in found if chars] == []


def test_find_unspoken_lists_runs() -> None:
    source = SourceText("ab cd ☃ ef", tuple(range(5, 15)), tuple(range(6, 16)), (Link(8, 10, ""),))
    tokens = [
        Token("a", 5, 6, "ˈA", origin="lexicon"),
        Token("cd", 8, 10, ",", origin="mark"),
        Token("☃", 11, 12, "", origin=""),
        Token("ef", 13, 15, "", origin="given"),
    ]
    assert list(find_unspoken(source, tokens)) == ["b", "cd", "☃"]
