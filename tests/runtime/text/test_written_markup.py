"""SSML that is rewritten with brackets is spoken the same."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from test_markup import KNOWN
from test_ssml import SSML

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.text.markup import parse_markup
from kokoro_tvm.runtime.text.markup.passages import split_styled_passages
from kokoro_tvm.runtime.text.markup.written import write_brackets


@pytest.mark.parametrize(
    ("inner", "written"),
    [
        ("Ha<break time='750ms'/>ha", "Ha [pause:0.75s] ha"),
        ("Ha<break strength='none'/>ha", "Haha"),
        ("one <voice name='bf_emma'>two</voice> three", "one [voice:bf_emma] two [voice:af_heart] three"),
        ("one <prosody rate='50%'>two</prosody> three", "one [rate:0.5]two[rate:1] three"),
        ("<phoneme ph='ab'>x</phoneme> <sub alias='b  c'>y</sub>", "[x](/ab /) b c"),
        ("<emphasis level='strong'>so big</emphasis>", "[so](+2) [big](+2)"),
        ("<p><s>A.</s><s>B.</s></p>\n<p>C.</p>", "A. B.\n\nC."),
        ("a [b] <phoneme ph='ab'>c]</phoneme>", "a [b] c]"),
    ],
)
def test_write_brackets_writes_items(inner: str, written: str) -> None:
    assert write_brackets(parse_markup(f"<speak>{inner}</speak>", KNOWN), "af_heart") == written


def test_write_brackets_drops_voices_without_a_voice() -> None:
    text = "<speak>a <voice name='bf_emma'><prosody rate='2'>b</prosody></voice><break time='1s'/> c</speak>"
    assert write_brackets(parse_markup(text, KNOWN), None) == "a b [pause:1s] c"


@given(SSML)
def test_write_brackets_is_read_as_the_document(inner: str) -> None:
    """Words, phonemes, voices, rates and pauses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            items = list(parse_markup(f"<speak>{inner.replace('[pause:x]', '')}</speak>", KNOWN))
            spoken = heard(items)
        except InputError:
            return
        assert heard(parse_markup(write_brackets(items, "af_heart"), KNOWN, ssml=False)) == spoken


def heard(items: object) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for passage in split_styled_passages(items):  # type: ignore[arg-type]
        links = {place: link for link in passage.source.links for place in range(link.start, link.end)}
        for place, (char, style) in enumerate(zip(passage.source.text, passage.styles, strict=True)):
            link = links.get(place)
            if link is not None and link.alias is not None:
                if place == link.start:
                    found += [
                        (char, style.voice or "af_heart", style.rate, "")
                        for char in link.alias
                        if char != " "
                    ]
            elif not char.isspace():
                request = "" if link is None else f"{link.phonemes or link.stress}"
                found.append((char, style.voice or "af_heart", style.rate, request))
        if passage.pause is not None:
            found.append((passage.pause,))
    return found
