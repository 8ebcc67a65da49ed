"""Sentences of words from text or phonemes, each as soon as the text shows its end.

The first text imports this module, and with it everything that only text needs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.notices import quoted, warn
from kokoro_tvm.runtime.prosody import MARKS
from kokoro_tvm.runtime.speech.division import Breath
from kokoro_tvm.runtime.speech.piece import Word
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.frontend.strings import tokenize_phonemes
from kokoro_tvm.runtime.text.frontend.tokens import Token, Utterance
from kokoro_tvm.runtime.text.markup import MarkupItem, MarkupVocabulary, SpeakingStyle, parse_markup
from kokoro_tvm.runtime.text.markup.omissions import omit
from kokoro_tvm.runtime.text.markup.passages import StyledPassage, split_styled_passages
from kokoro_tvm.runtime.text.markup.values import list_symbols
from kokoro_tvm.runtime.text.phonemes import clean_phonemes, has_sound
from kokoro_tvm.runtime.text.reading import describe_missing_phonemes, phonemize_sentence


def sentences_of_text(
    text: str | Iterable[str],
    known: MarkupVocabulary,
    front_end: FrontEnd,
    ssml: bool | None = None,
    markup: bool = True,
    omitted: Collection[str] = (),
) -> Iterator[Breath]:
    """Yield the sentences of a text.

    Args:
        text: in one string or in portions.
        known: names that markup may use.
        front_end: text to phonemes.
        ssml: see `parse`.
        markup: see `parse`.
        omitted: keys of `OMISSIONS`: kinds of text that are left out.

    Raises:
        InputError: markup is invalid, or nothing can be spoken.
    """
    return _sentences(omit(parse_markup(text, known, ssml, markup), omitted), known, front_end)


def _sentences(items: Iterable[MarkupItem], known: MarkupVocabulary, front_end: FrontEnd) -> Iterator[Breath]:
    has_words, lead = False, 0.0  # seconds of pauses before the first word
    sample, language = "", ""  # the first text with a letter or digit, else the first, and its language
    for passage in split_styled_passages(items):
        if not language and any(map(str.isalnum, passage.source.text)):
            sample, language = passage.source.text, known.language(passage.voice)
        sample = sample or passage.source.text
        sentences = list(_words(passage, known, front_end))
        if sentences and not has_words:
            has_words = True
            if lead:
                yield Breath((), "clause", lead)
        for words in sentences[:-1]:
            yield Breath(words, "sentence", voice=passage.voice)
        if sentences:
            yield Breath(sentences[-1], passage.boundary, passage.pause, passage.voice)
        elif has_words and passage.pause is not None:
            yield Breath((), passage.boundary, passage.pause)
        else:
            lead += passage.pause or 0.0
    if not has_words:
        if language:
            raise InputError(describe_missing_phonemes(sample, front_end.language_name(language)))
        empty = "the text has pauses alone" if lead else "the text is empty"
        reason = f"{quoted(sample, 20)} has no letter or digit" if sample else empty
        raise InputError(f"There is nothing to speak: {reason}.")


def _words(
    passage: StyledPassage, known: MarkupVocabulary, front_end: FrontEnd
) -> Iterator[tuple[Word, ...]]:
    """Yield the words of each utterance of a passage."""
    if not passage.source.text:
        return
    joined = passage.joined
    for utterance in phonemize_sentence(passage.detached, known.language(passage.voice), front_end):
        words = words_of(utterance, passage.source, passage.styles)
        if words:
            *others, last = (replace(words[0], joined=joined), *words[1:])
            yield (*others, replace(last, space=""))
            joined = False


def sentences_of_phonemes(phonemes: Iterable[str], vocabulary: Mapping[str, int]) -> Iterator[Breath]:
    """Yield each string as an utterance; spans are places in the strings, joined by line breaks.

    Raises:
        InputError: no symbol is known.
    """
    texts = [clean_phonemes(text) for text in phonemes]
    speakable = [place for place, text in enumerate(texts) if has_sound(text, vocabulary)]
    if not speakable:
        listed = list_symbols(symbol for text in texts for symbol in text if not symbol.isspace())
        raise InputError(f"There is nothing to speak: the model knows none of the phonemes ({listed}).")
    start = 0
    for place, text in enumerate(texts):
        if place in speakable:
            words = words_of(Utterance(tokenize_phonemes(text)), SourceText.of(text, start))
            yield Breath(words, "end" if place == speakable[-1] else "paragraph")
        else:
            warn(f"Left out, because the model knows none of its symbols: {quoted(text)}")
        start += len(text) + 1


def words_of(
    utterance: Utterance, source: SourceText, styles: Sequence[SpeakingStyle] | None = None
) -> tuple[Word, ...]:
    """Return the words of an utterance.

    Tokens of the same characters ("two", "dollars" for "$2") are one word, with marks between.

    Args:
        utterance: its tokens' spans are places in `source.text`.
        source: maps them to places in the request.
        styles: per character; a word has that of its first one.
    """
    words: list[Word] = []
    begin, end = 0, 0  # of the last word, in the text
    for token in utterance.tokens:
        same = (token.start, token.end) == (begin, end)
        if begin <= token.start < end and (same or not _is_mark(token)):
            end = max(end, token.end)
            last = words[-1]
            words[-1] = replace(
                _create_word(source, begin, end, last.symbols + token.phonemes, token.space),
                rate=last.rate,
                pitch=last.pitch,
            )
            continue
        previous_end, (begin, end) = end, (token.start, token.end)
        word = _create_word(source, begin, end, token.phonemes, token.space)
        if styles and begin < len(styles):
            word = replace(word, rate=styles[begin].rate, pitch=styles[begin].pitch)
        if words:
            word = replace(word, joined=_are_joined(words[-1], source.text[previous_end:begin], word))
        words.append(word)
    return tuple(words)


def _are_joined(before: Word, between: str, word: Word) -> bool:
    """Return whether no space is between two words."""
    # Text without tokens between a word and a mark is markup; between two words ("a/b") it replaces a space.
    if before.spoken and word.spoken:
        return not between
    return not any(map(str.isspace, between))


def _create_word(source: SourceText, begin: int, end: int, phonemes: str, space: str) -> Word:
    start = source.starts[begin] if begin < len(source.starts) else 0
    start, last = source.span(begin, end) if begin < end else (start, start)
    return Word(source.text[begin:end], start, last, phonemes, space)


def _is_mark(token: Token) -> bool:
    return bool(token.phonemes) and all(symbol in MARKS for symbol in token.phonemes)
