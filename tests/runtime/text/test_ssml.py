"""SSML: supported elements, notes, and errors with their place."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from letters import read_letters
from test_markup import outcome, passages, portions_of
from toy_bundle import FakeRunner

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import Division, SpeechWarning, Synthesizer
from kokoro_tvm.runtime.text.markup.items import SpeakingStyle


def test_ssml_elements_change_speech() -> None:
    text = (
        "<?xml version='1.0' encoding='utf-8'?>\n<speak version='1.1' xml:lang='en'>\n"
        "<p><s>One</s> <s>two &amp; <![CDATA[<3>]]></s></p>"
        "<sub alias='a b  c'>ABC</sub> <phoneme alphabet='ipa' ph='ˈa.bə'>gag</phoneme> "
        "<prosody rate='150%' pitch='+20%'>fast<prosody pitch='x-high'>er</prosody></prosody> "
        "<emphasis>it</emphasis><break time='250ms'/><break strength='none'/>"
        "<voice name='bf_emma'>she.</voice> <phoneme ph='ab'/></speak>"
    )
    one, two, three, she, last = passages(text)
    assert [p.source.text for p in (one, two, three, she, last)] == [
        "One",
        "two & <3>",
        "ABC gag faster it",
        "she.",
        "ab",
    ]
    assert [p.boundary for p in (one, two)] == ["sentence", "paragraph"]
    assert (three.pause, she.voice, last.voice) == (0.25, "bf_emma", None)
    place = text.index("&amp;")
    assert two.source.span(4, 5) == (place, place + 5)
    alias, phonemes, stress = three.source.links
    assert (alias.alias, phonemes.phonemes, stress.stress) == ("a b c", "ˈabə", 1.0)
    assert three.source.text[phonemes.start : phonemes.end] == "gag"
    assert three.styles[8] == SpeakingStyle(None, 1.5, 1.2)
    assert three.styles[12] == SpeakingStyle(None, 1.5, 1.45)
    assert three.styles[-1] == SpeakingStyle()
    for passage in (one, three, she):
        for char, start, end in zip(
            passage.source.text, passage.source.starts, passage.source.ends, strict=True
        ):
            assert text[start:end] == char


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            f"<speak>a <{'x' * 50}>b</{'x' * 50}></speak>",
            f"In line 1 of the SSML, <{'x' * 40}…> is not known; its text is spoken.",
        ),
        ("<speak>a\n<x:y>b</x:y></speak>", "In line 2 of the SSML, <x:y> is not known; its text is spoken."),
        ("<speak><prosody volume='loud'>a</prosody> b</speak>", "'volume' of <prosody> changes nothing"),
        ("<speak><prosody pitch='200Hz'>a</prosody> b</speak>", "a pitch in Hz changes nothing"),
        ("<speak><voice gender='female'>a</voice> b</speak>", "<voice> has no name"),
        (
            "<speak><phoneme alphabet='x-sampa' ph='A'>a</phoneme> b</speak>",
            "the alphabet 'x-sampa' of <phoneme> is not known; its text is spoken",
        ),
        (
            "<speak><phoneme alphabet='IPA' ph='a\u0325☃'>a</phoneme> b</speak>",
            "these phonemes of 'a\u0325☃': '\u0325' (U+0325), '☃' (U+2603); they are left out",
        ),
        ("<speak><audio>a <desc>c <p>d</p></desc></audio>b</speak>", "<desc> is left out"),
    ],
)
def test_ssml_ignored_parts_are_named(text: str, note: str) -> None:
    with pytest.warns(SpeechWarning, match=re.escape(note)) as caught:
        found = passages(text.replace("</speak>", text[7:]))
    assert sum(note in str(w.message) for w in caught) == 1
    assert "b" in found[-1].source.text


def test_ssml_unknown_phonemes_are_left_out() -> None:
    with pytest.warns(SpeechWarning):
        (found,) = passages(
            "<speak><phoneme alphabet='ipa' ph='a\u0325b'>x</phoneme> "
            "<phoneme alphabet='ipa' ph='☃'>e</phoneme> "
            "<phoneme alphabet='x-sampa' ph='A'>h</phoneme></speak>"
        )
    assert found.source.text == "x e h"
    assert [(link.start, link.end, link.phonemes) for link in found.source.links] == [(0, 1, "ab")]


def test_ssml_descriptions_are_silent() -> None:
    with pytest.warns(SpeechWarning):
        (found,) = passages(
            "<speak><metadata><p>x</p>x</metadata>"
            "<audio src='a'>a <desc>x<voice name='no'>x</voice></desc>b</audio></speak>"
        )
    assert found.source.text == "a b"


def test_ssml_pitch_accepts_a_percentage() -> None:
    """Azure accepts it too."""
    (found,) = passages("<speak><prosody pitch='50%'>a</prosody></speak>")
    assert found.styles[0].pitch == 1.5


LAUGHS = "<!DOCTYPE speak [<!ENTITY a 'aaaaaaaa'><!ENTITY b '&a;&a;&a;'>]><speak>&b;</speak>"
OUTSIDE = "<!DOCTYPE speak [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>\n<speak>&x;</speak>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<speak>a", "in line 1, column 9: it ends too early. Close <speak> of line 1, column 1 first."),
        (
            "<speak>\n<p>a</s></speak>",
            "in line 2, column 7: mismatched tag. Close <p> of line 2, column 1 first.",
        ),
        (
            "<speak>a & b</speak>",
            "in line 1, column 11: not well-formed (invalid token). Write & as &amp; and < as &lt;.",
        ),
        ("<speak>&nbsp;</speak>", "in line 1, column 8: undefined entity. Write & as &amp; and < as &lt;."),
        ("<speak/>x", "in line 1, column 9: junk after document element."),
        ("\n  <speak><break time='5'/></speak>", "line 2, column 10: '5' is no length of a pause."),
        ("<speak><break strength='huge'/></speak>", "'huge' is no strength of <break>. Known: none, x-weak"),
        ("<speak><voice name='no'>a</voice></speak>", "line 1, column 8: There is no voice 'no'."),
        ("<speak><prosody rate='quick'>a</prosody></speak>", "'quick' is no speed."),
        ("<speak><prosody pitch='deep'>a</prosody></speak>", "'deep' is no pitch."),
        ("<speak><emphasis level='x'>a</emphasis></speak>", "'x' is no level of <emphasis>."),
        ("<speak><phoneme ph='☃'>a</phoneme></speak>", "does not know these phonemes of '☃'"),
        ("<speak><phoneme>a</phoneme></speak>", "<phoneme> needs phonemes."),
        ("<speak><phoneme ph='a'>x<break/></phoneme></speak>", "<phoneme> holds text alone, no <break>."),
        ("<speak><sub>a</sub></speak>", "<sub> needs what is spoken."),
        (f"<speak><sub alias='a'>{'b' * 501}</sub></speak>", "<sub> has more than 500 characters."),
        ("<speak>" + "<p>" * 100, "more than 64 elements are open."),
        ("<speak a='" + "x" * 70_000 + "'/>", "has more than 65536 bytes. Close the tag."),
        (LAUGHS, "SSML with a document type is not read."),
        (OUTSIDE, "SSML with a document type is not read."),
    ],
)
def test_ssml_errors_have_line_and_column(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        passages(text)


def test_is_ssml() -> None:
    assert passages("<speaker> a", None)[0].source.text == "<speaker> a"
    assert passages("<speak>a</speak>", False)[0].source.text == "<speak>a</speak>"
    assert passages("\ufeff \n<!-- a --><speak>a [pause:x]</speak>")[0].source.text == "a [pause:x]"
    with pytest.raises(InputError, match="begins with <speak>, not with <p>"):
        passages("<p>a</p>", True)


PARTS = """word |Dr. |He. |Go!|\r\n|é😀|&amp;|&#65;|<![CDATA[a & b]]>|<!-- x -->|<p>|</p>|<s>|</s>|<break/>|
<break time='1s'/>|<sub alias='a b'>c. D</sub>|<phoneme ph='ab'>c. D</phoneme>|<voice name='bf_emma'>|
</voice>|<x>|</x>|&x;|<prosody rate='slow'>a</prosody>|<emphasis>|</emphasis>|<|[pause:x]|
<phoneme ph='ab'/>"""
SSML = st.lists(st.sampled_from(PARTS.split("|")), max_size=16).map("".join)


@settings(max_examples=60)
@given(SSML, st.lists(st.integers(1, 9), min_size=1, max_size=40), st.booleans())
def test_ssml_items_do_not_depend_on_portions(inner: str, sizes: list[int], closed: bool) -> None:
    text = f" <speak>{inner}</speak>" if closed else f"<speak>{inner}"
    assert outcome(portions_of(text, sizes)) == outcome(text)


@settings(max_examples=60)
@given(SSML)
def test_ssml_characters_keep_their_places(inner: str) -> None:
    text = f"<speak>{inner}</speak>"
    done = 0
    for passage in outcome(text)[0]:
        source = passage.source
        for char, start, end in zip(source.text, source.starts, source.ends, strict=True):
            assert done <= start <= end <= len(text)
            slice_ = text[start:end]
            assert slice_ in (char, "") or slice_[0] == "&" or char in " \n"
            done = end


@settings(max_examples=30)
@given(SSML)
def test_ssml_any_document_is_planned_or_refused(fake_synthesizer: Synthesizer, inner: str) -> None:
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setattr("kokoro_tvm.runtime.speech.sentences.phonemize_sentence", read_letters)
        try:
            plan = fake_synthesizer.plan(f"<speak>{inner}</speak>")
        except InputError:
            return
        assert fake_synthesizer.render(plan).audio.size == plan.samples


def test_ssml_first_sentence_does_not_wait(
    roomy: tuple[Synthesizer, FakeRunner], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kokoro_tvm.runtime.speech.sentences.phonemize_sentence", read_letters)
    read: list[str] = []

    def portions() -> Iterator[str]:
        for part in ("<speak><p>He ran home.", " A big", " bad dog.</p>", "<p>No.", "</p></speak>"):
            read.append(part)
            yield part

    first = next(roomy[0].stream(portions(), division=Division(least=5)))
    assert first.piece.symbols == "he aan home."
    assert len(read) == 2
