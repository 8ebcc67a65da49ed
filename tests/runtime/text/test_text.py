"""Text to phonemes: refused texts, choice of the G2P, notices."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import misaki
import pytest
from tiers import ASIAN

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.bundle.voices import LANGUAGES
from kokoro_tvm.runtime.notices import SpeechWarning
from kokoro_tvm.runtime.text.frontend import espeak_process
from kokoro_tvm.runtime.text.frontend import languages as g2p
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.packages import ESPEAK, JAPANESE
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.frontend.tokens import Token
from kokoro_tvm.runtime.text.markup import MarkupVocabulary
from kokoro_tvm.runtime.text.reading import check_text, phonemize_markup, phonemize_text


def phonemize(text: str, code: str) -> list[str]:
    """Phonemize with the installed packages."""
    return [found.phonemes for found in phonemize_text(SourceText.of(text), code, FrontEnd())]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(g2p, "_converters", {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("⌘⌥⏎", "no letter or digit"),
        ("?!…", "no letter or digit"),
        ("Hello\0world", "NUL byte"),
        ("a\ud800b", "not valid UTF-8"),
    ],
)
def test_check_text_refuses(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_text(SourceText.of(text))
    assert "\n" not in message


@pytest.mark.parametrize("text", ["Hi 😀!", "7", "ja " * 3000, "你" * 2000, "a" * 2000])
def test_check_text_accepts(text: str) -> None:
    check_text(SourceText.of(text))


def test_espeak_reads_english_with_one_notice() -> None:
    with pytest.warns(SpeechWarning, match="espeak-ng, because the bundle has no front end"):
        assert phonemize("Hello world.", "a") == ["həlˈO wˈɜːld."]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert phonemize("Hello.\n\nWorld.", "a") == ["həlˈO.", "wˈɜːld."]


def test_espeak_reads_the_longest_word_whole() -> None:
    """espeak-ng must not cut a text that check_text accepts."""
    with pytest.warns(SpeechWarning):
        (whole,) = phonemize("abel" * 32, "a")
    (part,) = phonemize("abel" * 16, "a")
    assert len(whole) > 1.8 * len(part)


@pytest.mark.parametrize("code", list("efhip"))
def test_espeak_reads_other_languages(code: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert phonemize("Ola 12.", code)[0].endswith(".")


@pytest.mark.parametrize(
    ("code", "module", "package"),
    [
        ("e", "espeakng_loader", "phonemizer-fork espeakng-loader"),
        ("j", "mojimoji", "misaki fugashi jaconv mojimoji unidic-lite"),
        ("z", "jieba", "misaki jieba pypinyin g2pM cn2an ordered-set"),
    ],
)
def test_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, code: str, module: str, package: str
) -> None:
    monkeypatch.setattr(g2p, "_converters", {})
    monkeypatch.setattr(espeak_process, "_process", None)
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delattr(misaki, module.removeprefix("misaki."), raising=False)
    with pytest.raises(InputError) as caught:
        phonemize("你好", code)
    assert f"{LANGUAGES[code]} text" in str(caught.value)
    assert f"run `pip install {package}`" in str(caught.value)
    assert "--phonemes" in str(caught.value)


def test_missing_misaki_names_the_python_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 13, 0))
    assert JAPANESE.remedy == "use Python 3.10 to 3.12, which is what misaki is made for"
    assert ESPEAK.remedy == "run `pip install phonemizer-fork espeakng-loader`"


@pytest.fixture
def capitals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fake espeak-ng: phonemes of a word are its capitals; "xyzzy" has none."""

    def converted(text: str) -> list[Token]:
        sounds = ("" if word in {"xyzzy", "⌘"} else word.upper() for word in text.split())
        return [Token(text, 0, len(text), " ".join(sounds), "", origin="converter")]

    monkeypatch.setattr(g2p, "_converters", {("a", None): converted})


@pytest.mark.usefixtures("capitals")
def test_words_without_phonemes_are_noted() -> None:
    with pytest.warns(SpeechWarning, match="Left out.*: xyzzy ⌘"):
        assert phonemize("Say xyzzy , ⌘ now", "a") == ["SAY  ,  NOW"]


@pytest.mark.usefixtures("capitals")
def test_text_without_phonemes_is_refused() -> None:
    known = MarkupVocabulary(frozenset("xyz"), lambda voice: "a")
    message = r"English has no phonemes for 'xyzzy' \(Latin script\)"
    with pytest.warns(SpeechWarning), pytest.raises(InputError, match=message):
        phonemize_markup("xyzzy", known, FrontEnd())


@ASIAN
def test_missing_mecab_dictionary_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """fugashi's error is a page of text, whose last line names the file."""

    def broken() -> None:
        raise RuntimeError(
            "Failed initializing MeCab.\n\n--- ERROR DETAILS ---\nno such file: mecabrc\n-----\n"
        )

    monkeypatch.setattr("misaki.cutlet.Tagger", broken)
    with pytest.raises(InputError, match=r"MeCab.* cannot start: no such file: mecabrc\. .*unidic-lite"):
        phonemize("こんにちは", "j")


@pytest.mark.usefixtures("capitals")
@pytest.mark.parametrize("entry", ["phonemize", "__call__"])
def test_warnings_name_the_calling_line(fake: Any, entry: str) -> None:
    """The number of frames in between does not matter."""
    tts, _ = fake
    with pytest.warns(SpeechWarning) as caught:
        getattr(tts, entry)("one xyzzy !", voice="af_heart,bf_emma")
    assert len(caught) >= 2
    assert {warning.filename for warning in caught} == {__file__}
