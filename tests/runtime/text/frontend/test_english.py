"""English front end: equal to misaki, with places of tokens in the source."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linked_text import linked

from kokoro_tvm.runtime.text.frontend import parts
from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
from kokoro_tvm.runtime.text.frontend.english import EnglishFrontEnd
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd, FrontEndResult
from kokoro_tvm.runtime.text.frontend.letters import UnknownWordReader
from kokoro_tvm.runtime.text.frontend.lexicon import Lexicon
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.frontend.tokens import Token
from kokoro_tvm.validation.measure.phonemes import SentenceReading, judge_phonemes
from kokoro_tvm.validation.reference.phonemes import misaki_english, sentences

# What is written in figures and signs comes here in words.
PLAIN = [sentence for sentence in sentences() if not re.search(r"[\d$£€%&@+=]", sentence)]
SOME = random.Random(11).sample(PLAIN, 120)
# Small enough that words are found in them, and marks in every place.
WORDS = """the The TO to a I am used in by vs. U.S. don't can't 'tis state-of-the-art
iPhone McDonald NASA's co-op lead read live record (yes) “no” — ... !
cats' xyzzy café :) [a](/ɐ/) [word](-1) one-two-three"""
texts = st.lists(st.sampled_from(WORDS.split()), max_size=9).map(" ".join)


@pytest.fixture(scope="module")
def file(front_end_files: Path) -> FrontEndFile:
    return FrontEndFile.open(front_end_files / "front_end.safetensors")


def english(file: FrontEndFile, british: bool, espeak: bool = True) -> EnglishFrontEnd:
    data = file.english(british)
    return EnglishFrontEnd(data, british, UnknownWordReader(data, british, espeak))


@pytest.fixture(scope="module")
def both(file: FrontEndFile, front_end_files: Path) -> Iterator[dict[bool, tuple[Any, EnglishFrontEnd]]]:
    """british -> (misaki, ours)"""
    with ExitStack() as stack:
        yield {
            british: (
                stack.enter_context(misaki_english(front_end_files / "tagger.zip", british)),
                english(file, british),
            )
            for british in (False, True)
        }


@pytest.mark.parametrize("word", ["a@", "b2", "x-"])
def test_english_reads_long_words_in_linear_time(
    word: str, file: FrontEndFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Count the parts that are read, not seconds."""
    taken: list[int] = []
    joined = parts.join_parts
    monkeypatch.setattr(
        "kokoro_tvm.runtime.text.frontend.english.join_parts", lambda p: (taken.append(len(p)), joined(p))[1]
    )
    reader = english(file, british=False, espeak=False)
    costs = []
    for count in (100, 200, 400):
        taken.clear()
        reader.convert(SourceText.of(word * count))
        costs.append(sum(taken))
    assert costs[1] < 2.5 * costs[0]
    assert costs[2] < 2.5 * costs[1]


@pytest.mark.parametrize("british", [False, True])
def test_english_equals_misaki_on_sentences(
    both: dict[bool, tuple[Any, EnglishFrontEnd]], british: bool
) -> None:
    misaki, ours = both[british]
    read = [
        SentenceReading(sentence, misaki(sentence), ours.convert(linked(sentence)), british)
        for sentence in SOME
    ]
    assert judge_phonemes({"English": read}, {}).differences["English"] == []


@settings(max_examples=60)
@given(text=texts, british=st.booleans())
def test_english_equals_misaki_on_random_text(
    both: dict[bool, tuple[Any, EnglishFrontEnd]], text: str, british: bool
) -> None:
    misaki, ours = both[british]
    reference, tokens = misaki(text), ours.convert(linked(text))
    if "".join(t.phonemes + t.space for t in tokens) != "".join(w.phonemes + w.space for w in reference):
        read = SentenceReading(text, reference, tokens, british)
        assert judge_phonemes({"English": [read]}, {}).differences["English"] == []


@settings(max_examples=60)
@given(text=st.one_of(texts, st.text(st.characters(exclude_categories=["Cs"]), max_size=60)))
def test_english_tokens_have_places(file: FrontEndFile, text: str) -> None:
    tokens = english(file, False, espeak=False).convert(linked(text))
    end = 0
    for token in tokens:
        assert end <= token.start < token.end <= len(text)
        end = token.end
        if "](" not in text:  # an apostrophe between figures is no part of a token's text
            assert re.sub("['‘’]", "", text[token.start : token.end]) == re.sub("['‘’]", "", token.text)


def test_english_homographs_depend_on_the_tag(file: FrontEndFile) -> None:
    tokens = english(file, False).convert(SourceText.of("They live where live bands record a record."))
    assert [t.phonemes for t in tokens if t.text in ("live", "record")] == [
        "lˈɪv", "lˈIv", "ɹəkˈɔɹd", "ɹˈɛkəɹd",
    ]  # fmt: skip


def test_english_follows_links(file: FrontEndFile) -> None:
    convert = english(file, False, espeak=False).convert

    def say(text: str) -> list[Token]:
        return convert(linked(text))

    (name, *_) = say("[Kokoro](/kˈOkəɹO/) speaks.")
    assert (name.phonemes, name.origin, name.start, name.end) == ("kˈOkəɹO", "given", 1, 7)
    assert say("[New York](/njujˈɔɹk/) now")[0].phonemes == "njujˈɔɹk"
    assert "ˈ" not in say("[better](-1)")[0].phonemes
    parts = say("un[believ](/bəlˈiv/)ably good")
    assert [(part.text, part.origin) for part in parts[:2]] == [("un", "letters"), ("believ", "given")]
    assert parts[2].text == "ably" and parts[2].phonemes


@pytest.mark.parametrize(
    ("word", "origin"),
    [
        ("zuckerbergish", "letters"),
        ("xkcdq", "spelled"),
        ("ŵŷxqz", "letters"),
        ("中文", ""),
        ("Anthony", "names"),
        ("Kowalski's", "names"),
        ("Zuckerbergish's", "letters"),
    ],
)
def test_english_reads_letters_without_espeak(file: FrontEndFile, word: str, origin: str) -> None:
    (token,) = english(file, False, espeak=False).convert(SourceText.of(word))
    assert (token.origin, bool(token.phonemes)) == (origin, bool(origin))


@pytest.mark.parametrize("british", [False, True])
def test_unknown_words_are_read_by_their_parts(file: FrontEndFile, british: bool) -> None:
    read = UnknownWordReader(file.english(british), british, espeak=False)
    for word in ("Munoz", "Kowalski", "Zorblat", "Krish"):
        phonemes, origin = read(word) or ("", "")
        plural = Lexicon(file.english(british).gold, file.english(british).silver, british).plural(phonemes)
        assert read(f"{word}'s") == read(f"{word}’s") == (plural, origin)
        anthony, _ = read("Anthony") or ("", "")
        assert read(f"{word}-Anthony") == (phonemes + anthony, origin)
    assert read("Munoz") == read("Muñoz")
    assert read("O'Neill") == read("Oneill")
    assert read("-") is None


def test_english_is_thread_safe(file: FrontEndFile) -> None:
    front_end = FrontEnd(file)

    def read(text: str) -> FrontEndResult:
        return front_end.read(SourceText.of(text), "a")

    alone = {text: read(text) for text in SOME[:20]}
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(read, alone)) == list(alone.values())


def test_front_end_notes_guesses_and_losses(file: FrontEndFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kokoro_tvm.runtime.text.frontend.letters.EspeakEnglish", _missing)
    text = "Qwxyzzyish 中文 costs $5, * Qwxyzzyish."
    notices = FrontEnd(file).read(SourceText.of(text), "a").notices
    assert [getattr(notice, "words", None) for notice in notices] == [("Qwxyzzyish",), ("中文",)]
    guessed, lost = notices
    assert "does not have them: Qwxyzzyish. Install espeak-ng" in guessed
    assert lost == "Left out, because American English has no phonemes for it: 中文 (Chinese script)"


def _missing(british: bool) -> None:
    raise ImportError("espeakng_loader")


def test_english_imports_only_numpy(front_end_files: Path) -> None:
    code = """
import sys
from pathlib import Path
from kokoro_tvm.runtime.text.frontend import parts
from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.source import SourceText
text = SourceText.of("The cat sat in 1999.")
reading = FrontEnd(FrontEndFile.open(Path(sys.argv[1]))).read(text, "a")
assert reading.utterances[0].phonemes == "ðə kˈæt sˈæt ɪn nˌIntˈin nˈIndi nˈIn.", reading
unwanted = set("misaki spacy torch num2words regex phonemizer espeakng_loader safetensors pydantic".split())
assert not unwanted & {name.partition(".")[0] for name in sys.modules}
"""
    path = str(front_end_files / "front_end.safetensors")
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_english_words_of_a_number_share_a_place() -> None:
    """Each of n words stands for n digits, so work per word must not grow with n."""
    copied = 0

    class Ends(tuple[int, ...]):
        def __getitem__(self, place: Any) -> Any:
            nonlocal copied
            found = super().__getitem__(place)
            copied += len(found) if isinstance(place, slice) else 1
            return found

    source = SourceText.of("9" * 2000)
    source = replace(source, ends=Ends(source.ends))
    for _ in range(2000):
        assert source.span(0, 2000) == (0, 2000)
    assert copied == 2000


def test_notices_shorten_long_words(file: FrontEndFile) -> None:
    text = " ".join([f"{'qz' * 30}{'q' * i}zyx" for i in range(30)])
    reading = FrontEnd(file).read(SourceText.of(f"{text} {'漢' * 20_000}"), "a")
    assert reading.notices
    assert max(map(len, reading.notices)) < 1200


@settings(max_examples=300)
@given(word=st.from_regex(r"[A-Za-z]{1,40}", fullmatch=True))
def test_words_of_ascii_letters_have_no_infix(file: FrontEndFile, word: str) -> None:
    """The tokenizer does not search them."""
    rules = file.english(british=False).tokenizer
    assert not any(match.group() for match in re.finditer(rules.infix, word))
    assert not re.match(rules.url, word)


@pytest.mark.parametrize(
    ("written", "phonemes"),
    [
        ("kn-knit", "nə nˈɪt"),
        ("B-b-but", "bə bə bˌʌt"),
        ("e-every", "ɛ ˈɛvəɹi"),
        ("Sh-she's", "ʃə ʃiz"),
        ("I-I", "ˌI—ˌI"),
        ("C-Class", "sˈiklˌæs"),
        ("t-test", "tˈitˌɛst"),
        ("co-conspirator", "kˌOkənspˈɪɹəTəɹ"),
    ],
)
def test_stuttered_beginnings_are_sounds(file: FrontEndFile, written: str, phonemes: str) -> None:
    tokens = english(file, False).convert(SourceText.of(f"Oh, {written} it."))
    assert "".join(token.phonemes + token.space for token in tokens).split(", ")[1] == f"{phonemes} ɪt."
