"""Seven languages through the door of the front end, beside misaki as stock kokoro calls it."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from misaki_languages import reference, sentences
from tiers import ASIAN, each_language

import kokoro_tvm.model
from kokoro_tvm.runtime.notices import SpeechWarning
from kokoro_tvm.runtime.speech.division import Breath, divided, symbols_of
from kokoro_tvm.runtime.speech.sentences import words_of
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.frontend.tokens import Utterance
from kokoro_tvm.runtime.text.reading import phonemize_sentence

VOCABULARY = json.loads(
    (Path(kokoro_tvm.model.__file__).parent / "kokoro-82m.json").read_text(encoding="utf-8")
)["vocab"]
CODES = "efhipjz"
# Symbols that the model lacks, in what the sentences sound like: marks alone, which have no sound.
UNKNOWN = {"e": set("¿¡"), "j": set("«»")}
# What is read otherwise than by stock kokoro: what stock kokoro makes of it, None where it fails, and ours.
BETTER: dict[tuple[str, str], tuple[str | None, str]] = {
    ("h", "राम आया। श्याम गया॥"): ("ɾˈaːm ˈaːjaː ʃjˈaːm ɡˈʌjaː", "ɾˈaːm ˈaːjaː. ʃjˈaːm ɡˈʌjaː."),
    ("j", "1,000円"): ("iʨi, ʣeɾo eɴ", "seɴ eɴ"),
    ("j", "1200000000"): (None, "ʥɨːɲi okɯ"),
    ("z", "1,000元"): ("i→,li↗ŋɥɛ↗n", "i→ʨʰjɛ→nɥɛ↗n"),
    ("z", "二〇一二"): ("ɚ↘〇i→ɚ↘", "ɚ↘li↗ŋ i→ɚ↘"),
    ("z", "今天-5℃"): ("ʨi→ntʰjɛ→n-u↓ ʂɤ↘ʂɨ↘tu↘", "ʨi→ntʰjɛ→n fu↘u↓ ʂɤ↘ʂɨ↘tu↘"),
    ("z", "Ａ股"): ("Ａku↓", "ˈA ku↓"),
}
# Sentences of the list in which g2pM reads a character otherwise than pypinyin: the first two are better.
POLYPHONES = {
    "任何人不得使为奴隶或奴役。": ("wei↘", "wei↗"),
    "嗯，好的。哦，原来如此！": ("n↗", "ə↘n"),
    "他们赋有理性和良心，并应以兄弟关系的精神相对待。": ("i→ŋi↓", "i↘ŋi↓"),
}


@cache
def front_end() -> FrontEnd:
    return FrontEnd()


def read(text: str, code: str) -> str:
    (utterance,) = front_end().read(SourceText.of(text), code).utterances
    return utterance.phonemes


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("code", each_language(CODES))
def test_sentences_sound_as_stock_kokoro_has_them(code: str) -> None:
    """Symbol for symbol; but that the danda of Hindi is a full stop, of which misaki leaves nothing."""
    stock, result = reference(code), sentences(code)
    assert len(result) >= 40
    for sentence in result:
        spelled = sentence.replace("।", ".").replace("॥", ".") if code == "h" else sentence
        wanted = stock(spelled)
        if sentence in POLYPHONES:
            wanted = wanted.replace(*POLYPHONES[sentence]).replace("ɔ↗", "ɔ↘")
        assert read(sentence, code) == wanted


@pytest.mark.parametrize("code", each_language(CODES))
def test_symbols_that_the_model_lacks(code: str) -> None:
    symbols = set("".join(read(sentence, code) for sentence in sentences(code)))
    assert symbols - set(VOCABULARY) == UNKNOWN.get(code, set())


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("code", "text"), [pytest.param(*case, marks=ASIAN if case[0] in "jz" else ()) for case in BETTER]
)
def test_what_is_read_better(code: str, text: str) -> None:
    stock, ours = BETTER[code, text]
    assert read(text, code) == ours
    if stock is None:
        with pytest.raises(AssertionError):
            reference(code)(text)
    else:
        assert reference(code)(text) == stock


@pytest.mark.parametrize("code", each_language(CODES))
def test_words_have_their_places(code: str) -> None:
    """They cover the text in order, and what they sound like together is what the sentence sounds like."""
    count = 0
    for sentence in sentences(code):
        (utterance,) = phonemize_sentence(SourceText.of(sentence), code, front_end())
        assert utterance.phonemes == read(sentence, code)
        check_places(utterance, sentence)
        count += sum(word.spoken for word in words_of(utterance, SourceText.of(sentence)))
    assert count > 5 * len(sentences(code))


def check_places(utterance: Utterance, text: str) -> None:
    starts = [token.start for token in utterance.tokens]
    assert starts == sorted(starts)
    covered = {place for token in utterance.tokens for place in range(token.start, token.end)}
    assert all(place in covered for place, char in enumerate(text) if not char.isspace())


@ASIAN
@pytest.mark.parametrize(
    ("text", "phonemes"),
    [
        ("塞尔维亚在欧洲。", "sai↘"),
        ("他每天上贴吧。", "pa→"),
        ("他住在葛底斯堡。", "kɤ↓"),
        ("银行行长走了。", "xa↗ŋꭧa↓ŋ"),
    ],
)
def test_chinese_polyphones_are_read_by_their_sentence(text: str, phonemes: str) -> None:
    assert phonemes in read(text, "z")


@ASIAN
@pytest.mark.parametrize(
    ("text", "phonemes"),
    [("日本は広い。", "ɲihoɴ"), ("私は行く。", "βataɕi"), ("上の階だ。", "kai"), ("歌が上手だ。", "ʥoɯzɨ")],
)
def test_japanese_words_have_their_usual_reading(text: str, phonemes: str) -> None:
    (utterance,) = phonemize_sentence(SourceText.of(text), "j", front_end())
    assert phonemes in utterance.phonemes


@ASIAN
def test_japanese_and_chinese_have_words_without_spaces() -> None:
    assert words("駅はどこですか？", "j") == ["駅", "は", "どこ", "です", "か", "？"]
    assert words("2024年1月12日にｶﾞｽ代を払った。", "j") == [
        "2024", "年", "1", "月", "12", "日", "に", "ｶﾞｽ", "代", "を", "払った", "。",
    ]  # fmt: skip
    assert words("我们用12.5元买了《红楼梦》。", "z") == [
        "我们", "用", "12.5元", "买", "了", "《", "红楼梦", "》", "。",
    ]  # fmt: skip


def words(text: str, code: str) -> list[str]:
    (utterance,) = phonemize_sentence(SourceText.of(text), code, front_end())
    return [word.text for word in words_of(utterance, SourceText.of(text))]


@ASIAN
@pytest.mark.filterwarnings("ignore::kokoro_tvm.runtime.SpeechWarning")
@pytest.mark.parametrize(
    ("text", "code"), [("我用iPhone上网，OK？", "z"), ("私はiPhoneを買った。", "j"), ("ＮＨＫを見る", "j")]
)
def test_latin_words_are_read_as_english(text: str, code: str) -> None:
    """misaki leaves their letters, which the model would take for phonemes."""
    (utterance,) = front_end().read(SourceText.of(text), code).utterances
    latin = {"iPhone": "iPhone", "OK": "OK", "ＮＨＫ": "NHK"}
    results = [token for token in utterance.tokens if token.text in latin]
    assert results
    assert [t.phonemes for t in results] == [read(latin[t.text], "a") for t in results]
    assert set(utterance.phonemes) <= {*VOCABULARY}
    check_places(utterance, text)


@ASIAN
def test_latin_words_without_english(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be read is named, and the rest is spoken."""
    monkeypatch.setitem(__import__("sys").modules, "espeakng_loader", None)
    monkeypatch.setattr("kokoro_tvm.runtime.text.frontend.espeak_process._process", None)
    monkeypatch.setattr("kokoro_tvm.runtime.text.frontend.languages._converters", {})
    reading = FrontEnd().read(SourceText.of("我用iPhone上网。"), "z")
    assert reading.utterances[0].phonemes == "wo↓jʊ↘ŋ ʂa↘ŋwa↓ŋ."
    assert reading.notices == ("Left out, because there is no English here to read it by: iPhone",)


@ASIAN
@pytest.mark.parametrize(("code", "text"), [("j", "雪が降る🎉。"), ("z", "下雪𠀀了🎉。"), ("z", "龫是字")])
def test_what_has_no_phonemes_is_named(code: str, text: str) -> None:
    """By the front end, or as a symbol that the model does not know."""
    reading = front_end().read(SourceText.of(text), code)
    unknown = set(reading.utterances[0].phonemes) - set(VOCABULARY)
    named = {char for notice in reading.notices for char in notice} | unknown
    assert {"🎉", "𠀀", "龫"} & set(text) <= named


@pytest.mark.parametrize("code", each_language(CODES))
def test_a_long_sentence_is_divided(code: str) -> None:
    """Above 510 symbols, without any mark inside; nothing is lost."""
    plain = "".join(char for char in max(sentences(code), key=len) if char.isalnum() or char in " ीािुूेैोौंँ़्")
    text = (" " if code not in "jz" else "").join([plain.strip()] * 14)[:1400]
    (utterance,) = phonemize_sentence(SourceText.of(text), code, front_end())
    breath = Breath(words_of(utterance, SourceText.of(text)), "end")
    assert len(symbols_of(breath.words)) > 510
    parts = list(divided(breath, 300))
    assert max(len(symbols_of(part.words)) for part in parts) <= 300
    joined = "".join(symbols_of(part.words) for part in parts)
    assert joined.replace(" ", "") == utterance.phonemes.replace(" ", "")


CHARACTERS = st.sampled_from(
    "0123456789.,-/%℃年月日个０９٣፩①½²々〃〇っゃーぃんカﾞﾟ｡、。！？「」（）《》…—～ abe"
    "éñßZＺ'\u0301\u3099\u200b\u202e\x07"
    "私東京食べる你好我们中国负龫𠀀한ㄱह्िन।🎉ﷺ"
)


def mixed() -> st.SearchStrategy[str]:
    return st.lists(CHARACTERS | st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).map(
        lambda chars: " ".join("".join(chars).replace("\0", "").split())
    )


@pytest.mark.parametrize("code", each_language("jzhe"))
@settings(max_examples=60)
@given(data=st.data())
def test_any_text_is_read(code: str, data: st.DataObject) -> None:
    """Without an exception, and whatever has a place keeps it."""
    text = data.draw(mixed())
    list(utterances("1", code))  # the packages are imported, with warnings of their own
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the packages' own
        warnings.simplefilter("ignore", SpeechWarning)
        for utterance in utterances(text, code):
            check_order(utterance, text)


def utterances(text: str, code: str) -> Iterator[Utterance]:
    yield from phonemize_sentence(SourceText.of(text), code, front_end())


def check_order(utterance: Utterance, text: str) -> None:
    if not re.search(r"[*_~`&<>\[\]#|\\]", text):  # of Markdown and HTML, which is not read
        # The tokens of a written form are its words; the place of each is the whole of it.
        assert all(text[t.start : t.end] == t.text for t in utterance.tokens if t.text in text)
    assert all(0 <= t.start <= t.end <= len(text) for t in utterance.tokens)
    starts = [token.start for token in utterance.tokens]
    assert starts == sorted(starts)
