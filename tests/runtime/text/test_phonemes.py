"""Phoneme strings: encoding and cuts."""

from __future__ import annotations

import pytest
from toy_bundle import VOCABULARY

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.text.phonemes import clean_phonemes, encode, find_middle_cut


def test_encode_equals_the_stock_model() -> None:
    assert encode("abZ c", VOCABULARY) == [0, *(VOCABULARY[s] for s in "ab c"), 0]


@pytest.mark.parametrize("text", ["", "  \n", "a\0b"])
def test_clean_phonemes_refuses_empty_and_nul(text: str) -> None:
    with pytest.raises(InputError):
        clean_phonemes(text)


def test_clean_phonemes_replaces_line_breaks() -> None:
    assert clean_phonemes("a\r\nb\tc ") == "a b c "


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "aaa, bbb. cc, dd",
            ("aaa, bbb.", "cc, dd"),
        ),  # a far sentence end wins over a near clause end
        ("a. b. c. d. e.", ("a. b.", "c. d. e.")),  # the sentence end nearest to the middle
        ("aaa: bbb, ccc", ("aaa:", "bbb, ccc")),
        ("aaa, bbb ccc ddd", ("aaa,", "bbb ccc ddd")),
        ("aaa —bbb ccc", ("aaa", "—bbb ccc")),
        ("aa bb cc", ("aa", "bb cc")),
        ("aaa.”) bbb", ("aaa.”)", "bbb")),
        ("aaa,bbb", ("aaa,", "bbb")),
        ("… aaa bbb …", ("… aaa", "bbb …")),  # a part has more than marks
        ("aaabbb.", None),
        ("…!", None),
    ],
)
def test_find_middle_cut(text: str, parts: tuple[str, str] | None) -> None:
    cut = find_middle_cut(text)
    assert (cut and (text[:cut].strip(), text[cut:].strip())) == parts
