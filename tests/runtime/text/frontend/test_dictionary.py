"""Compact dictionary: every packed entry is found, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime.text.frontend.data import FORMAT, FrontEndFile
from kokoro_tvm.runtime.text.frontend.dictionary import Dictionary, pack_dictionary

words = st.text("abcéAZ\0\1\2\t\n ’日🙂", min_size=1, max_size=12)
phonemes = st.text("ˈæbkə ", max_size=6)
entries = phonemes | st.dictionaries(st.sampled_from(["DEFAULT", "NOUN"]), st.none() | phonemes, min_size=1)


@given(content=st.dictionaries(words, entries, max_size=60), others=st.lists(words | st.text(max_size=3)))
def test_dictionary_has_every_entry(content: dict[str, str], others: list[str]) -> None:
    dictionary = Dictionary(pack_dictionary(content))
    assert len(dictionary) == len(content)
    assert {word: dictionary.get(word) for word in content} == content
    assert all(dictionary.get(word) == content.get(word) for word in others)


def test_dictionary_has_entries_of_many_blocks() -> None:
    content = {f"word{n}": "æ" * (n % 50) for n in range(5000)}
    dictionary = Dictionary(pack_dictionary(content))
    assert all(dictionary.get(word) == phonemes for word, phonemes in content.items())
    assert dictionary.get("word") is None
    assert dictionary.get("word49999") is None


def test_dictionary_shares_prefixes() -> None:
    content = {"a" * length: "b" for length in range(1, 600)}
    assert dict(Dictionary(pack_dictionary(content)).items()) == content


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"": "a"}, "empty"),
        ({"a": "b" * 5000}, "too long"),
        ({chr(place): "a" for place in range(0x4E00, 0x4F00)}, "more than 253"),
    ],
)
def test_pack_dictionary_refuses_large_entries(content: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        pack_dictionary(content)


def test_dictionary_refuses_other_bytes() -> None:
    with pytest.raises(ValueError, match="no dictionary"):
        Dictionary(b"\5\0\0\0abcd")


def test_front_end_file_refuses_another_layout() -> None:
    file = FrontEndFile({"format": np.array([FORMAT - 1], np.int32)}, Path("front_end.safetensors"))
    with pytest.raises(BundleError, match=rf"has layout {FORMAT - 1}, and this version reads {FORMAT}"):
        file.english(british=False)
    with pytest.raises(BundleError, match=r"is no front end that this version reads .*Build"):
        FrontEndFile({}, Path("front_end.safetensors")).english(british=False)
