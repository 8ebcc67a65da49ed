"""Parts of the front end against the packages that they replace: num2words, misaki, spaCy."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import num2words
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from misaki import en, espeak
from spacy.lang.lex_attrs import word_shape as spacy_shape
from spacy.lang.norm_exceptions import BASE_NORMS
from spacy.strings import get_string_id
from spacy.symbols import IDS

from kokoro_tvm.model.front_end import conversion
from kokoro_tvm.runtime.text.frontend import espeak as ours
from kokoro_tvm.runtime.text.frontend.alphabet import restress
from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
from kokoro_tvm.runtime.text.frontend.hashing import hash_rows, string_id
from kokoro_tvm.runtime.text.frontend.normalization.language import LanguageRules
from kokoro_tvm.runtime.text.frontend.subtokens import split_word
from kokoro_tvm.runtime.text.frontend.tagger import word_shape

facts = cache(conversion.read_spacy_facts)  # reads spaCy's package
LARGEST = 10**36 - 1
numbers = st.one_of(st.integers(0, 10_000), st.integers(0, LARGEST), st.integers(0, 12).map(lambda n: 10**n))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
letters = st.text("aBcÉßǅªnN0123456789٣.,-_'‘’ /!½²中", max_size=14)


def spelled(words: str) -> str:
    """Return words of num2words without hyphens, commas and "and"."""
    return " ".join(word for word in re.findall("[a-z]+", words) if word != "and")


@pytest.fixture(scope="module")
def words(front_end_files: Path) -> LanguageRules:
    forms = FrontEndFile.open(front_end_files / "front_end.safetensors").forms("en")
    assert forms is not None
    return LanguageRules(forms, "a")


@given(number=numbers)
@example(number=1_001_001)
def test_spell_equals_num2words(words: LanguageRules, number: int) -> None:
    assert words.spell(str(number)) == spelled(num2words.num2words(number))
    if number < 10**21:  # beyond it the rules say no "and"
        full = num2words.num2words(number).replace("-", " ").replace(",", "")
        assert words.spell(str(number), "full").replace(",", "") == full
    if number < 10**18:
        assert words.spell(str(number), "ordinal") == spelled(num2words.num2words(number, to="ordinal"))


@given(number=st.integers(1000, 9999))
def test_spell_years_equals_num2words(words: LanguageRules, number: int) -> None:
    assert words.spell(str(number), "year") == spelled(num2words.num2words(number, to="year"))


@given(whole=st.integers(0, 10**6), rest=st.text("0123456789", min_size=1, max_size=6))
def test_number_equals_num2words(words: LanguageRules, whole: int, rest: str) -> None:
    figures = " ".join(num2words.num2words(int(figure)) for figure in rest)
    assert words.number(f"{whole}.{rest}") == f"{spelled(num2words.num2words(whole))} point {figures}"


@given(phonemes=st.text("ˈˌkæəIʤn", max_size=8), stress=st.sampled_from([None, -2, -1, -0.5, 0, 0.5, 1, 2]))
def test_restress_equals_misaki(phonemes: str, stress: float | None) -> None:
    marks = [m.start() for m in re.finditer("[ˈˌ]", phonemes)]
    if any(not set(phonemes[mark:]) & set("æəI") for mark in marks):
        return  # no phonemes of a word: misaki fails on them
    assert restress(phonemes, stress) == en.apply_stress(phonemes, stress)


@given(word=letters)
def test_split_word_equals_misaki(word: str) -> None:
    assert [part for _, part in split_word(word)] == en.subtokenize(word)
    assert all(word[start : start + len(part)] == part for start, part in split_word(word))


@given(text=texts | st.sampled_from(sorted(filter(None, IDS))))
def test_string_id_equals_spacy(text: str) -> None:
    assert string_id(text, facts().symbols) == get_string_id(text)


def test_spacy_facts_equal_spacy() -> None:
    assert facts().symbols == {name: number for name, number in IDS.items() if name}
    assert facts().norms == BASE_NORMS


@given(text=texts.filter(bool))
def test_word_shape_equals_spacy(text: str) -> None:
    assert word_shape(text) == spacy_shape(text)


@given(key=st.integers(0, 2**64 - 1), seed=st.integers(0, 20))
def test_hash_rows_equals_thinc(key: int, seed: int) -> None:
    import numpy as np
    from thinc.api import NumpyOps

    theirs = NumpyOps().hash(np.array([key], np.uint64), seed)
    assert list(hash_rows(key, seed)) == theirs[0].tolist()


@pytest.mark.parametrize("british", [False, True])
@given(spoken=st.text("aɪʊeʃʒtdɔəlʲoʔnˌ\u0329ɚrxçɐɬ\u0303^iːɜɹɾ ˈ", max_size=12))
def test_to_alphabet_equals_misaki(british: bool, spoken: str) -> None:
    class Backend:
        def phonemize(self, words: list[str]) -> list[str]:
            return words

    fallback = espeak.EspeakFallback.__new__(espeak.EspeakFallback)
    fallback.british, fallback.version, fallback.backend = british, None, Backend()

    class Token:
        text = spoken

    assert ours.to_alphabet(spoken.strip(), british) == fallback(Token)[0]
