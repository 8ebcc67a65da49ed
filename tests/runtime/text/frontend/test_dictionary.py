"""The lexicon in one block: what was packed is found, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.runtime.text.frontend.dictionary import Dictionary, pack_lines

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n"), min_size=1, max_size=12)
phonemes = st.text("ˈæbkə ", max_size=6)
entries = phonemes | st.dictionaries(st.sampled_from(["DEFAULT", "NOUN"]), st.none() | phonemes, min_size=1)


@given(content=st.dictionaries(words, entries, max_size=60), others=st.lists(words))
def test_every_word_has_its_entry(content: dict[str, str], others: list[str]) -> None:
    dictionary = Dictionary(pack_lines(content))
    assert len(dictionary) == len(content)
    assert {word: dictionary.get(word) for word in content} == content
    assert all(dictionary.get(word) == content.get(word) for word in others)


def test_many_blocks() -> None:
    content = {f"word{n}": "æ" * (n % 50) for n in range(5000)}
    dictionary = Dictionary(pack_lines(content))
    assert all(dictionary.get(word) == phonemes for word, phonemes in content.items())
    assert dictionary.get("word") is None
    assert dictionary.get("word49999") is None


@pytest.mark.parametrize("content", [{"": "a"}, {"a\tb": "c"}, {"a": "b\nc"}])
def test_what_would_break_a_line_is_refused(content: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="not an entry"):
        pack_lines(content)
