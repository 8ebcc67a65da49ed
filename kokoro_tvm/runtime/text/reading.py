"""From text to phonemes, in the language of the voice; text that cannot be spoken whole is refused."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.notices import quoted, warn
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.source import SourceText, apply_aliases
from kokoro_tvm.runtime.text.frontend.tokens import Token, Utterance
from kokoro_tvm.runtime.text.markup import MarkupVocabulary, parse_markup
from kokoro_tvm.runtime.text.markup.passages import split_sections
from kokoro_tvm.runtime.text.scripts import describe_scripts

__all__ = [
    "check_text",
    "describe_missing_phonemes",
    "phonemize_markup",
    "phonemize_sentence",
    "phonemize_text",
]


def check_text(source: SourceText) -> None:
    """Raise InputError for text that is empty, broken, or without letter or digit."""
    text = source.text
    if not text.strip():
        raise InputError("There is nothing to speak: the text is empty.")
    if "\0" in text:
        raise InputError("The text holds a NUL byte, so it is probably not text. Remove it first.")
    if any(unicodedata.category(char) == "Cs" for char in text):
        raise InputError("The text is not valid UTF-8. Convert it to UTF-8 first.")
    if not source.is_speakable:
        raise InputError(f"There is nothing to speak: {quoted(text, 20)} has no letter or digit.")


def describe_missing_phonemes(text: str, language: str) -> str:
    """Return the message for a text with letters or digits that a language has no phonemes for."""
    shown = quoted(text, 20)
    return (
        f"There is nothing to speak: {language} has no phonemes for {shown}{describe_scripts(shown)}. "
        "Choose a voice of another language."
    )


def phonemize_text(source: SourceText, code: str, front_end: FrontEnd) -> list[Utterance]:
    """Utterances of a text, one a paragraph, in the language of `code` (a letter of LANGUAGES); none where
    no phonemes came of it.

    A SpeechWarning names what was left out, and which words no lexicon has.

    Raises:
        InputError: the text cannot be spoken, or the language's G2P is not installed.
    """
    source = apply_aliases(source)
    check_text(source)
    reading = front_end.read(source, code)
    for notice in reading.notices:
        warn(notice)
    return [utterance for utterance in reading.utterances if utterance.phonemes]


def phonemize_sentence(source: SourceText, code: str, front_end: FrontEnd) -> list[Utterance]:
    """What `phonemize_text` gives, of one sentence; none where it has nothing to speak, with a
    SpeechWarning if that is more than marks."""
    text, replaced = source.text, apply_aliases(source)
    if not replaced.is_speakable:
        if "\0" in text:
            check_text(source)
        lost = sorted({char for char in text if unicodedata.category(char) in {"So", "Sc", "Sk", "Cs", "Co"}})
        if lost:
            warn(f"Left out, because it has no letter or digit: {' '.join(map(ascii, lost))}")
        return []
    spoken = phonemize_text(replaced, code, front_end)
    if not spoken:
        warn(f"Left out, because no phonemes came of it: {quoted(text)}")
    return spoken


def phonemize_markup(
    text: str, known: MarkupVocabulary, front_end: FrontEnd, ssml: bool | None = None, markup: bool = True
) -> list[Utterance]:
    """Utterances of a text, one a paragraph, divided at breaks too; spans are places in the text.

    An utterance without tokens is a pause. A SpeechWarning names what was left out, and which words no
    lexicon has. Raises InputError for what cannot be spoken, and for markup that makes no sense.
    """
    utterances: list[Utterance] = []
    code = ""  # of the first language that has something to read
    for section in split_sections(parse_markup(text, known, ssml, markup)):
        found: list[Utterance] = []
        if section.detached.is_speakable:
            language = known.language(section.voice)
            code = code or language
            for utterance in phonemize_text(section.detached, language, front_end):
                found.append(Utterance(tuple(_placed(t, section.source) for t in utterance.tokens)))
        if section.pause is not None:
            *before, last = found or [Utterance(())]
            found = [*before, replace(last, pause=section.pause)]
        utterances += found
    if not any(utterance.tokens for utterance in utterances):
        check_text(SourceText.of(text))
        raise InputError(
            describe_missing_phonemes(text, front_end.language_name(code))
            if code
            else "There is nothing to speak: outside of markup, the text has no letter or digit."
        )
    return utterances


def _placed(token: Token, source: SourceText) -> Token:
    start, end = source.span(token.start, token.end) if token.start < token.end else (0, 0)
    return replace(token, start=start, end=end)
