"""Text normalization: written forms are verbalized, and nothing else changes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st
from linked_text import linked
from misaki_languages import sentences as languages_sentences
from tiers import ASIAN, PINNED
from written_forms import WrittenForm, written_forms
from yaml import safe_load

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.speech.sentences import words_of
from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
from kokoro_tvm.runtime.text.frontend.english import EnglishFrontEnd
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.letters import UnknownWordReader
from kokoro_tvm.runtime.text.frontend.normalization import LANGUAGE_FILES, normalize
from kokoro_tvm.runtime.text.frontend.normalization.language import LanguageRules
from kokoro_tvm.runtime.text.frontend.paragraphs import split_paragraphs
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.reading import phonemize_sentence
from kokoro_tvm.validation.reference.phonemes import misaki_english, sentences

# Pieces of written forms, so that examples are near what is looked for.
PIECES = """
1 5 10 2024 -  – / : . , ' " ° % $ € £ ¥ # @ & + = < > ~ ^ * ** _ ` ~~ [ ]( ) ![ | \\ &amp; &#8217; <b> </b>
km h km/h °C kg ft 10:30 pm am 2024-03-15 3/4 ½ ² − × → St. Dr. Main Henry VIII II I Chapter p. e.g. Inc.
a.b@c.de www.x.com https://x.com/a? #Tag @name 😀 👍🏽 \u200d 🇫🇷 March Mar. 15 M bn the x
[a](/ɐ/) [1](-1) +1 (555) 010 9999
"""
written = st.lists(st.sampled_from([*PIECES.split(), " ", " ", " "]), max_size=14).map("".join)
anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
CASES = Path(__file__).with_name("cases")
CHANGED = [
    ("a", 640, "5f85b818793ed027"),
    ("e", 9, "c8fefd5e4c931e53"),
    ("f", 7, "c26b21dd464c285b"),
    ("h", 8, "4f9f3b9a75443b07"),
    ("i", 7, "81923d168568c3dc"),
    ("j", 8, "c6f0f84f48f1f4a3"),
    ("p", 7, "39f49de8c54140b2"),
    ("z", 9, "7026c14aa42ec2be"),
]
EVERYTHING = "**5 km** at www.x.com, a.b@c.de, 555-0123, #Tag: x² = $3."


@pytest.fixture(scope="module")
def file(front_end_files: Path) -> FrontEndFile:
    return FrontEndFile.open(front_end_files / "front_end.safetensors")


@pytest.fixture(scope="module")
def languages(file: FrontEndFile) -> dict[str, LanguageRules | None]:
    """Rules by the letter of the language; None without a file."""
    found = {code: file.forms(name) for code, name in LANGUAGE_FILES.items()}
    return {code: None if forms is None else LanguageRules(forms, code) for code, forms in found.items()}


Normal = Callable[..., str]


@pytest.fixture(scope="module")
def normal(languages: dict[str, LanguageRules | None], english: dict[bool, EnglishFrontEnd]) -> Normal:
    """Normalizer of texts: normal(text, code="a", unread=())."""

    def read(text: str, code: str = "a", unread: tuple[str, ...] = ()) -> str:
        tag = english[code == "b"].find_tags if code in "ab" else None
        return normalize(linked(text), languages[code], code in "ab", unread, tag).source.text

    return read


def without_stress(phonemes: str) -> str:
    """Remove stress, which differs between a number in digits and in words."""
    return re.sub("[ˈˌ]", "", phonemes)


@pytest.fixture(scope="module")
def english(file: FrontEndFile) -> dict[bool, EnglishFrontEnd]:
    """American (False) and British (True) front end."""
    datas = {british: file.english(british) for british in (False, True)}
    return {
        british: EnglishFrontEnd(data, british, UnknownWordReader(data, british))
        for british, data in datas.items()
    }


def plain(english: EnglishFrontEnd, text: str) -> str:
    tokens = english.convert(SourceText.of(text))
    return "".join(token.phonemes + token.space for token in tokens).strip()


def test_normalize_verbalizes_written_forms(file: FrontEndFile, english: dict[bool, EnglishFrontEnd]) -> None:
    front_end = FrontEnd(file)
    wrong = []
    for form in written_forms():
        read = front_end.read(linked(form.written), "b" if form.british else "a").utterances
        phonemes = " ".join(utterance.phonemes for utterance in read)
        wanted = plain(english[form.british], form.spoken)
        if without_stress(phonemes) != without_stress(wanted):
            wrong.append((form.written, phonemes, wanted))
    assert wrong == []
    assert len(written_forms()) >= 200


@PINNED
@pytest.mark.parametrize("british", [False, True])
def test_misaki_column_of_written_forms_is_current(
    english: dict[bool, EnglishFrontEnd], front_end_files: Path, british: bool
) -> None:
    with misaki_english(front_end_files / "tagger.zip", british) as misaki:
        wrong = [
            (form.written, found)
            for form in written_forms()
            if form.british == british and (found := _misaki(misaki, english[british], form)) != form.misaki
        ]
    assert wrong == []


def _misaki(misaki, english: EnglishFrontEnd, form: WrittenForm) -> str:  # type: ignore[no-untyped-def]
    """Return misaki's phonemes of a form; "" if they equal those of its words."""
    found = "".join(word.phonemes + word.space for word in misaki(form.written)).strip()
    wanted = plain(english, form.spoken)
    return "" if without_stress(found) == without_stress(wanted) else found


@pytest.mark.parametrize("path", sorted(CASES.glob("*.yaml")), ids=lambda path: path.stem)
def test_normalize_verbalizes_cases(normal: Normal, path: Path) -> None:
    code = next(code for code, name in LANGUAGE_FILES.items() if name == path.stem)
    rows = [row for rows in safe_load(path.read_text(encoding="utf-8")).values() for row in rows]
    wrong = [
        (row, found)
        for row in rows
        if (found := " ".join(normal(row["written"], code).split())) != row["spoken"]
    ]
    assert wrong == []
    british = [row for row in rows if "british" in row]
    assert [normal(row["written"], "b") for row in british] == [row["british"] for row in british]


@pytest.mark.parametrize("path", sorted(CASES.glob("*.plain.txt")), ids=lambda path: path.stem)
def test_normalize_keeps_plain_sentences(normal: Normal, path: Path) -> None:
    code = next(code for code, name in LANGUAGE_FILES.items() if name == path.stem.partition(".")[0])
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [(line, found) for line in lines if (found := normal(line, code)) != line] == []
    assert len(lines) >= (200 if code in "ab" else 30)


@ASIAN
@pytest.mark.parametrize(
    ("code", "text", "phonemes"),
    [
        ("j", "4時", "joʥi"),
        ("j", "5月1日", "ɡoɡaʦɨ ʦɨitaʨi"),
        ("j", "10日", "toːka"),
        ("j", "9人", "kɯɲiɴ"),
        ("j", "3本", "samboɴ"),
        ("j", "20分", "ɲiʥɨʔpɯɴ"),
        ("j", "日本と私", "ɲihoɴtoβataɕi"),
        ("j", "ドイツ人", "doiʦɨʥiɴ"),
        ("j", "何が何だ", "naɲiɡananda"),
        ("j", "ミシシッピ川", "mʲiɕiɕiʔpʲiɡaβa"),
        ("z", "还款", "xwa↗nkʰwa↓n"),
        ("z", "还有", "xai↗jou↓"),
    ],
)
def test_verbalized_words_sound_as_written(file: FrontEndFile, code: str, text: str, phonemes: str) -> None:
    (spoken,) = FrontEnd(file).read(SourceText.of(text), code).utterances
    assert spoken.phonemes.replace(" ", "") == phonemes.replace(" ", "")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        pytest.param("j", "湿度５０％、25℃、±2、A&B、√2、½、№3", marks=ASIAN),
        pytest.param("z", "湿度50%、25℃、±2、√2、½", marks=ASIAN),
        ("h", "10%, 25°C, ½"),
    ],
)
def test_notices_do_not_list_spoken_signs(file: FrontEndFile, code: str, text: str) -> None:
    assert FrontEnd(file).read(SourceText.of(text), code).notices == ()


@pytest.mark.parametrize(("code", "count", "digest"), CHANGED)
def test_normalize_changes_running_text_as_pinned(normal: Normal, code: str, count: int, digest: str) -> None:
    """Of the sentences that the phonemes of each language are compared on. Each was read once; a change of
    the digest asks for another look at those that differ."""
    texts = sentences() if code == "a" else languages_sentences(code)
    found = [(text, words) for text in texts if (words := normal(text, code)) != text]
    assert len(found) == count
    assert hashlib.sha256(repr(found).encode()).hexdigest()[:16] == digest


@given(text=st.one_of(written, anything), code=st.sampled_from("abej"))
@example(text="&#0; &#xD800; &#128;", code="a")
@example(text="٣٤ km ¾٣ 5²³ ௧௨:௩௪", code="a")
@example(text="https://x.com/[a](/ɐ/)", code="a")
@example(text="https://x.com/[a](/ɐ/)", code="e")
@example(text="www.x.com/[a](/ɐ/)b $x=[a](/ɐ/)$", code="b")
@example(text="\ue000 https://\ue000", code="a")
def test_normalize_keeps_places(languages: dict[str, LanguageRules | None], text: str, code: str) -> None:
    source = linked(text)
    result = normalize(source, languages[code], code == "a").source
    assert len(result.text) == len(result.starts) == len(result.ends)
    assert list(result.starts) == sorted(result.starts)
    assert list(result.ends) == sorted(result.ends)
    assert all(0 <= a <= b <= len(text) for a, b in zip(result.starts, result.ends, strict=True))
    kept = [source.text[link.start : link.end] for link in source.links if link.is_fixed]
    assert [result.text[link.start : link.end] for link in result.links if link.is_fixed] == kept


@given(text=st.text("abcdefghij ,;!?'\n", max_size=60))
def test_normalize_keeps_plain_words(normal: Normal, text: str) -> None:
    assert normal(text.replace("\n", " ")) == text.replace("\n", " ")


def test_normalize_does_not_stop_at_a_word(normal: Normal) -> None:
    for text in ("N" + "o" * 400, "Ab3x" * 200, "漢" * 300, "x" * 5000):
        assert all(len(word.encode()) <= 128 for word in normal(text).split())


def test_normalize_notes_replaced_letters(file: FrontEndFile) -> None:
    reading = FrontEnd(file).read(SourceText.of("漢" * 60), "a")
    assert reading.notices == (
        f"Left out, because American English has no phonemes for it: {'漢' * 40}… (Chinese script)",
    )
    reading = FrontEnd(file).read(SourceText.of("Łódź and Привет, 東京."), "a")
    assert reading.notices == (
        "Read with other letters: Łódź as Lódz",
        "Left out, because American English has no phonemes for it: Привет 東京 (Cyrillic, Chinese script)",
    )


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (
            "units",
            "five km at W W W dot X dot com, A dot B at C dot de, five five five, oh one two three, "
            "hashtag Tag: x squared equals three dollars.",
        ),
        (
            "all",
            "five km at www.x.com, a.b at c.de, five hundred fifty five-zero one two three, "
            "hash Tag: x two equals dollar three.",
        ),
    ],
)
def test_normalize_skips_unread_kinds(normal: Normal, kind: str, words: str) -> None:
    assert normal(EVERYTHING, unread=(kind,)) == words


def test_with_unread_forms_returns_a_copy(file: FrontEndFile) -> None:
    front_end = FrontEnd(file)

    def phonemes(front_end: FrontEnd) -> str:
        return front_end.read(linked("It is 5 km."), "a").utterances[0].phonemes

    before = phonemes(front_end)
    assert "kəlˈɑməTəɹz" in before
    assert "kəlˈɑməTəɹz" not in phonemes(front_end.with_unread_forms(["units"]))
    assert phonemes(front_end) == before
    with pytest.raises(InputError, match="There is no kind 'unit' of written forms"):
        front_end.with_unread_forms(["unit"])


def test_written_form_has_one_place(file: FrontEndFile) -> None:
    text = "It cost $5M on 2024-03-15 at 10-20 km/h, see https://a.com/bee."
    (utterance,) = FrontEnd(file).read(SourceText.of(text), "a").utterances
    words = [word.text for word in words_of(utterance, SourceText.of(text))]
    assert words == [
        *("It", "cost", "$5M", "on", "2024-03-15", "at", "10-20 km/h", ",", "see"),
        *("https://a.com/bee", "."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[105](#&#)", "one hundred and five"),
        ("[100](#a#)", "a hundred"),
        ("[105](#a&#)", "a hundred and five"),
        ("[5 km](+1)", "five kilometers"),
    ],
)
def test_normalize_follows_number_flags(normal: Normal, text: str, words: str) -> None:
    assert normal(text) == words


def test_normalize_ignores_flags_without_rules(file: FrontEndFile) -> None:
    forms = file.forms("en")
    assert forms is not None
    del forms["spellout"]["names"]["full"]
    assert normalize(linked("[105](#&#)"), LanguageRules(forms, "a")).source.text == "one hundred five"


def test_normalize_keeps_links(file: FrontEndFile) -> None:
    (utterance,) = FrontEnd(file).read(linked("[5 km](/fˈIv/) and 5 km"), "a").utterances
    assert [t.phonemes for t in utterance.tokens] == ["fˈIv", "ænd", "fˈIv", "kəlˈɑməTəɹz"]


def test_split_paragraphs_removes_block_marks() -> None:
    text = """
# A title
Text that
reads on:
- one
  wrapped
* [x] two

3. three
4) four
> quoted
> on
```python
x
```
| a | b |
|---|---|
Title
=====
"""
    assert [part.text for part in split_paragraphs(SourceText.of(text))] == [
        *("A title", "Text that reads on:", "one wrapped", "two", "3: three", "4: four quoted on"),
        *("x", "a, b", "Title"),
    ]  # fmt: skip
    for part in split_paragraphs(SourceText.of(text)):
        assert list(part.starts) == sorted(part.starts)


def test_split_paragraphs_needs_space_after_marks() -> None:
    assert [
        part.text for part in split_paragraphs(SourceText.of("-5 is cold\n#tag me\n2024. So\n**bold**"))
    ] == ["-5 is cold #tag me 2024. So **bold**"]


@given(
    text=st.one_of(
        st.lists(st.sampled_from([*PIECES.split(), "\n", " ", "- ", "1. ", "> "]), max_size=20).map("".join)
    )
)
def test_split_paragraphs_keeps_places(text: str) -> None:
    end = 0
    for part in split_paragraphs(SourceText.of(text)):
        assert end <= part.starts[0]
        assert list(part.starts) == sorted(part.starts)
        end = part.ends[-1]
        assert end <= len(text)


def test_front_end_speaks_emoji(file: FrontEndFile) -> None:
    (utterance,) = phonemize_sentence(SourceText.of("👍🏽!"), "a", FrontEnd(file))
    assert [(t.text, t.start, t.end) for t in utterance.tokens] == [
        ("thumbs", 0, 2),
        ("up", 0, 2),
        ("!", 2, 3),
    ]


@pytest.mark.parametrize(
    "unit",
    [
        *("1,", "a@", "*", "&#", "[", "**a", "1-", "1/", "1.", "1:", "$1", "#a", "a.", "http://", "[a]("),
        *("<a ", "`", "X", "1 1/", "(555) ", "+1-", "😀\u200d", "\u200d", "A St. ", "x²", "5' ", '5" ', "!["),
        *("&amp", "_a", "a_", "\\", "a%20", "–", "5 - ", "[a][", "a-b.", "10:30-", "Henry ", "< ", "1", " "),
        *("[a](/ˈb/) 5 km ", "a" + " " * 99),
    ],
)  # fmt: skip
def test_normalize_handles_large_texts(languages: dict[str, LanguageRules | None], unit: str) -> None:
    """Quadratic time would take minutes each nightly, and ten seconds by default."""
    text = unit * (examples(100_000) // len(unit))
    for part in split_paragraphs(linked(text)):
        normalize(part, languages["a"], True)


@pytest.mark.parametrize("block", [range(0x2C00), range(0x1F000, 0x1FB00)], ids=["symbols", "pictures"])
def test_name_emoji_skips_unnamed_characters(normal: Normal, block: range) -> None:
    for place in block:
        normal(f"{chr(place)} {chr(place)}5 a")
