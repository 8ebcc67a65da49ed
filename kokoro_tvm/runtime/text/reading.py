"""From text to phonemes in the language of the voice; refuse text that cannot be spoken."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.notices import Notice, quoted, warn
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.normalization import FormChoice
from kokoro_tvm.runtime.text.frontend.source import SourceText, apply_aliases
from kokoro_tvm.runtime.text.frontend.tokens import Token, Utterance
from kokoro_tvm.runtime.text.markup import MarkupVocabulary, parse_markup
from kokoro_tvm.runtime.text.markup.omissions import omit
from kokoro_tvm.runtime.text.markup.passages import split_sections, split_styled_passages
from kokoro_tvm.runtime.text.scripts import describe_scripts


def check_text(source: SourceText) -> None:
    """Check that a text is speakable.

    Raises:
        InputError: The text is empty, not valid Unicode, or has no letter or digit.
    """
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
    """Return the message for a text that has letters but no phonemes in a language."""
    shown = quoted(text, 20)
    return (
        f"There is nothing to speak: {language} has no phonemes for {shown}{describe_scripts(shown)}. "
        "Choose a voice of another language."
    )


def phonemize_text(source: SourceText, code: str, front_end: FrontEnd) -> list[Utterance]:
    """Phonemize a text, one utterance per paragraph; utterances without phonemes are left out.

    A SpeechWarning names what was left out or guessed.

    Args:
        source: The text with its links.
        code: Letter of the language, a key of LANGUAGES.
        front_end: The bundle's front end.

    Raises:
        InputError: The text cannot be spoken, or the language's G2P is not installed.
    """
    source = apply_aliases(source)
    check_text(source)
    reading = front_end.read(source, code)
    for notice in reading.notices:
        warn(notice)
    return [utterance for utterance in reading.utterances if utterance.phonemes]


def phonemize_sentence(source: SourceText, code: str, front_end: FrontEnd) -> list[Utterance]:
    """Phonemize one sentence; return [] if nothing of it is spoken.

    A SpeechWarning says so if that is more than marks.
    """
    text, aliased = source.text, apply_aliases(source)
    if not aliased.is_speakable:
        if "\0" in text:
            check_text(source)
        lost = sorted({char for char in text if unicodedata.category(char) in {"So", "Sc", "Sk", "Cs", "Co"}})
        if lost:
            sentence = f"Left out, because it has no letter or digit: {' '.join(map(ascii, lost))}"
            warn(Notice(sentence, lost))
        return []
    utterances = phonemize_text(aliased, code, front_end)
    if not utterances:
        warn(Notice(f"Left out, because no phonemes came of it: {quoted(text)}", (text.strip(),)))
    return utterances


def phonemize_markup(
    text: str,
    vocabulary: MarkupVocabulary,
    front_end: FrontEnd,
    ssml: bool | None = None,
    markup: bool = True,
    omitted: Collection[str] = (),
) -> list[Utterance]:
    """Phonemize a text with markup, one utterance per paragraph or break.

    Token places are places in the text. An utterance without tokens is a pause. A SpeechWarning names what
    was left out or guessed.

    Args:
        text: With or without markup.
        vocabulary: Phoneme symbols and voices that markup may name.
        front_end: The bundle's front end.
        ssml: Whether it is SSML; None detects `<speak`.
        markup: False takes brackets and tags as text.
        omitted: Keys of `OMISSIONS`: kinds of text that are left out.

    Raises:
        InputError: The text cannot be spoken, or its markup is invalid.
    """
    utterances: list[Utterance] = []
    code = ""  # first language with text
    for section in split_sections(omit(parse_markup(text, vocabulary, ssml, markup), omitted)):
        section_utterances: list[Utterance] = []
        if section.detached.is_speakable:
            language = vocabulary.language(section.voice)
            code = code or language
            section_utterances = [
                _map_places(utterance, section.source)
                for utterance in phonemize_text(section.detached, language, front_end)
            ]
        if section.pause is not None:
            *before, last = section_utterances or [Utterance(())]
            section_utterances = [*before, replace(last, pause=section.pause)]
        utterances += section_utterances
    if not any(utterance.tokens for utterance in utterances):
        check_text(SourceText.of(text))
        raise InputError(
            describe_missing_phonemes(text, front_end.language_name(code))
            if code
            else "There is nothing to speak: outside of markup, the text has no letter or digit."
        )
    return utterances


def phonemize_portions(
    text: str | Iterable[str],
    vocabulary: MarkupVocabulary,
    front_end: FrontEnd,
    ssml: bool | None = None,
    markup: bool = True,
    omitted: Collection[str] = (),
) -> Iterator[Utterance]:
    """Yield the utterances of each sentence as it arrives, divided as speech is; memory does not grow.

    Arguments, places and errors are those of `phonemize_markup`.
    """
    has_tokens, sample, code = False, "", ""
    for passage in split_styled_passages(omit(parse_markup(text, vocabulary, ssml, markup), omitted)):
        source, utterances = passage.detached, [Utterance(())]
        if source.text:
            language = vocabulary.language(passage.voice)
            if not code and source.is_speakable:
                sample, code = source.text, language
            sample = sample or source.text
            utterances = [
                _map_places(utterance, passage.source)
                for utterance in phonemize_sentence(source, language, front_end)
            ] or utterances
        has_tokens = has_tokens or any(utterance.tokens for utterance in utterances)
        *before, last = utterances
        yield from before
        if last.tokens or passage.pause is not None:
            yield replace(last, pause=passage.pause)
    if not has_tokens:
        check_text(SourceText.of(sample))
        raise InputError(describe_missing_phonemes(sample, front_end.language_name(code)))


def explain_markup(
    text: str,
    vocabulary: MarkupVocabulary,
    front_end: FrontEnd,
    ssml: bool | None = None,
    markup: bool = True,
    omitted: Collection[str] = (),
) -> list[FormChoice]:
    """Return what was proposed and chosen for the written forms of a text with markup, with places in it.

    Raises:
        InputError: The markup is invalid.
    """
    choices: list[FormChoice] = []
    for section in split_sections(omit(parse_markup(text, vocabulary, ssml, markup), omitted)):
        code = vocabulary.language(section.voice)
        for choice in front_end.explain(apply_aliases(section.detached), code):
            choices.append(replace(choice, span=section.source.span(*choice.span)))
    return choices


def _map_places(utterance: Utterance, source: SourceText) -> Utterance:
    """Return the tokens of an utterance with their places in the source."""

    def place(token: Token) -> Token:
        start, end = source.span(token.start, token.end) if token.start < token.end else (0, 0)
        return replace(token, start=start, end=end)

    return Utterance(tuple(map(place, utterance.tokens)))
