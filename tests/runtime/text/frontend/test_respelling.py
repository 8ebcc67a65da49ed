"""Respellings of English words as phonemes."""

from __future__ import annotations

import pytest

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.text.frontend.respelling import is_respelling, phonemize_respelling


@pytest.mark.parametrize(
    ("respelling", "phonemes"),
    [
        ("kuh-TAR", "kətˈɑɹ"),
        ("gih-TAR", "ɡɪtˈɑɹ"),
        ("KAT-", "kˈæt"),
        ("puh-TAY-toh", "pətˈAtO"),
        ("FEW-zhun", "fjˈuʒən"),
        ("SHEE-uh-luh", "ʃˈiələ"),
        ("THINK-ing", "θˈɪŋkɪŋ"),
        ("YOO-ster", "jˈustəɹ"),
        ("MY-ruh", "mˈIɹə"),
        ("noo YORK-", "nˈu jˈɔɹk"),
    ],
)
def test_phonemize_respelling(respelling: str, phonemes: str) -> None:
    assert phonemize_respelling(respelling) == phonemes


@pytest.mark.parametrize(
    ("respelling", "message"),
    [("kuh-tar", "one syllable in capitals"), ("KUH-TAR", "one syllable in capitals"), ("xx-TAR", "'xx'")],
)
def test_respelling_that_cannot_be_read_is_refused(respelling: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        phonemize_respelling(respelling)


def test_only_entries_with_a_hyphen_are_respellings() -> None:
    assert is_respelling("kuh-TAR") and not is_respelling("kətˈɑɹ")
