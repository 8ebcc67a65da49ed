"""Scores on test cases of another project: format of the cases, comparison of readings."""

from __future__ import annotations

from pathlib import Path

import pytest
from readings import Case, cases, has_same_letters, has_same_words


def test_cases_of_both_forms(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text(
        "5 km~five kilometres\n \n7~seven\n1:30~half past one~one thirty\n", encoding="utf-8"
    )
    (tmp_path / "a.txt").write_text("~12\ntwelve\none two\n~~3\nthree\n", encoding="utf-8")
    assert list(cases(tmp_path)) == [
        Case("a.txt", "12", ("twelve", "one two")),
        Case("a.txt", "3", ("three",)),
        Case("b.txt", "5 km", ("five kilometres",)),
        Case("b.txt", "7", ("seven",)),
        Case("b.txt", "1:30", ("half past one", "one thirty")),
    ]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Twenty-one, sir.", "twenty one sir", True),
        ("two hundred and five", "two hundred five", True),
        ("five p.m", "five PM", True),
        ("H T M L", "HTML", True),
        ("it’s", "its", True),
        ("five", "six", False),
        ("two to five", "two five", False),
    ],
)
def test_what_is_has_same_letters(one: str, other: str, same: bool) -> None:
    assert has_same_letters(one, other, True, ["and"]) == same


@pytest.mark.parametrize(
    ("one", "other", "language", "same"),
    [
        ("ventitré euro", "ventitre euro", "it", True),
        ("ventitré euro", "ventidue euro", "it", False),
        ("二千ヨネンシガツ十ヨッカ", "二千四年四月十四日", "ja", True),
        ("午前四時五フン", "午前四時五分", "ja", True),
        ("ヨネン", "五年", "ja", False),
        ("ヨネンからゴネン", "四年五年", "ja", False),
        ("two to five", "two - five", "en", True),
        ("one slash f four", "one/f-four", "en", True),
        ("two five", "two-five", "en", True),
        ("two times five", "two - five", "en", False),
        ("two slash five", "two five", "en", False),
    ],
)
def test_the_same_words_spelled_otherwise(one: str, other: str, language: str, same: bool) -> None:
    assert has_same_words(one, other, language, []) == same


def test_without_spaces_only_characters_count() -> None:
    assert has_same_letters("二十 五", "二十五", False, [])
