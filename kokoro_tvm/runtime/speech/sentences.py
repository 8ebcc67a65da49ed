"""From text or phonemes to the words of sentences, each sentence as soon as the text shows where it ends.

Whatever only text needs is imported from here, and with the first of it: opening a bundle does without.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from kokoro_tvm.runtime.text.markup.passages import StyledPassage, split_styled_passages
from kokoro_tvm.runtime.text.markup.values import list_symbols
from kokoro_tvm.runtime.text.phonemes import clean_phonemes, has_sound
from kokoro_tvm.runtime.text.reading import describe_missing_phonemes, phonemize_sentence

__all__ = ["sentences_of_phonemes", "sentences_of_text", "words_of"]


def sentences_of_text(
    text: str | Iterable[str],
    known: MarkupVocabulary,
    front_end: FrontEnd,
    ssml: bool | None = None,
    markup: bool = True,
) -> Iterator[Breath]:
    """Sentences of a text as they come; ssml, markup: as `parse_markup` takes them.

    Raises InputError, when they come, for markup that makes no sense and where nothing can be spoken.
    """
    return _sentences(parse_markup(text, known, ssml, markup), known, front_end)


def _sentences(items: Iterable[MarkupItem], known: MarkupVocabulary, front_end: FrontEnd) -> Iterator[Breath]:
    spoken, lead = False, 0.0  # seconds requested before the first word
    seen, language = "", ""  # the first text, or the first with a letter or digit and its language
    for passage in split_styled_passages(items):
        if not language and any(map(str.isalnum, passage.source.text)):
            seen, language = passage.source.text, known.language(passage.voice)
        seen = seen or passage.source.text
        found = list(_words(passage, known, front_end))
        if found and not spoken:
            spoken = True
            if lead:
                yield Breath((), "clause", lead)
        for words in found[:-1]:
            yield Breath(words, "sentence", voice=passage.voice)
        if found:
            yield Breath(found[-1], passage.boundary, passage.pause, passage.voice)
        elif spoken and passage.pause is not None:
            yield Breath((), passage.boundary, passage.pause)
        else:
            lead += passage.pause or 0.0
    if not spoken:
        if language:
            raise InputError(describe_missing_phonemes(seen, front_end.language_name(language)))
        empty = "the text has pauses alone" if lead else "the text is empty"
        reason = f"{quoted(seen, 20)} has no letter or digit" if seen else empty
        raise InputError(f"There is nothing to speak: {reason}.")


def _words(
    passage: StyledPassage, known: MarkupVocabulary, front_end: FrontEnd
) -> Iterator[tuple[Word, ...]]:
    """The words of each of its utterances, none of them empty."""
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
    """Every string as one utterance; spans are places in the strings, joined by line breaks."""
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
    """The words of an utterance, whose tokens' spans are places in the text of `source`; the words have its
    places, and the style of the character that they begin with.

    Tokens that stand for the same characters ("two", "dollars" for "$2") are one word, with marks between.
    """
    words: list[Word] = []
    begin, end = 0, 0  # of the last word, in the text
    for token in utterance.tokens:
        same = (token.start, token.end) == (begin, end)
        if begin <= token.start < end and (same or not _is_mark(token)):
            end = max(end, token.end)
            last = words[-1]
            words[-1] = replace(
                _placed(source, begin, end, last.symbols + token.phonemes, token.space),
                rate=last.rate,
                pitch=last.pitch,
            )
            continue
        done, (begin, end) = end, (token.start, token.end)
        word = _placed(source, begin, end, token.phonemes, token.space)
        if styles and begin < len(styles):
            word = replace(word, rate=styles[begin].rate, pitch=styles[begin].pitch)
        if words:
            word = replace(word, joined=_touch(words[-1], source.text[done:begin], word))
        words.append(word)
    return tuple(words)


def _touch(before: Word, between: str, word: Word) -> bool:
    """Whether no space is between two words. What the front end left out between a word and a mark was
    markup; between two words ("a/b") it stands for a space."""
    if before.spoken and word.spoken:
        return not between
    return not any(map(str.isspace, between))


def _placed(source: SourceText, begin: int, end: int, phonemes: str, space: str) -> Word:
    start = source.starts[begin] if begin < len(source.starts) else 0
    start, last = source.span(begin, end) if begin < end else (start, start)
    return Word(source.text[begin:end], start, last, phonemes, space)


def _is_mark(token: Token) -> bool:
    return bool(token.phonemes) and all(symbol in MARKS for symbol in token.phonemes)
