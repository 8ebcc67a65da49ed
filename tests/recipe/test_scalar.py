"""Unquoted words: what they mean, and which are refused because YAML readers disagree."""

from __future__ import annotations

import pytest

from kokoro_tvm.recipe._scalar import ScalarError, plain


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("0", 0),
        ("-7", -7),
        ("512", 512),
        ("0.9999", 0.9999),
        ("1e-5", 1e-5),
        ("-2.5E+3", -2500.0),
        ("1.0.0", "1.0.0"),
        ("+avx512f", "+avx512f"),
        ("-sse4a", "-sse4a"),
        ("x86_64-linux-gnu", "x86_64-linux-gnu"),
        ("nothing", "nothing"),
        ("é no", "é no"),
    ],
)
def test_plain_word(word: str, value: object) -> None:
    found = plain(word)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "word",
    [
        "yes",
        "No",
        "ON",
        "off",
        "y",
        "N",
        "True",
        "FALSE",
        "~",
        "Null",
        "010",
        "0x1F",
        "0o17",
        "0b101",
        "1_000",
        "1:30",
        "1:30:00",
        "12:30.5",
        "+5",
        ".5",
        "5.",
        ".inf",
        "-.INF",
        ".nan",
        "NaN",
        "inf",
        "2026-01-31",
        "1e999",
        "9007199254740993",
        "99999999999999999999",
    ],
)
def test_word_of_several_meanings_is_refused(word: str) -> None:
    with pytest.raises(ScalarError):
        plain(word)
