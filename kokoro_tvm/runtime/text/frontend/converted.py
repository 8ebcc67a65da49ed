"""Texts of other languages than English, word by word: by the rules of the bundle, else by a converter of
`languages.py`; what links give phonemes for stands between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kokoro_tvm.runtime.bundle.languages import SpokenLanguage
from kokoro_tvm.runtime.prosody import MARKS
from kokoro_tvm.runtime.text.frontend.languages import Conversion, convert
from kokoro_tvm.runtime.text.frontend.sounds import Sounds
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.frontend.strings import aligned
from kokoro_tvm.runtime.text.frontend.tokens import Token

__all__ = ["converted"]

_NO_STRESS = (
    "The stress of single words, and how a number is read, can be chosen with the English front end of a "
    "bundle alone; here such links and <emphasis> change nothing."
)


@dataclass(frozen=True)
class _Part:
    """A stretch of a text, without space at both ends; space: whether one follows; phonemes: those a link
    gives, None where they have to be found."""

    start: int
    end: int
    space: str
    phonemes: str | None = None
    origin: str = ""


def converted(
    sources: Sequence[SourceText], code: str, language: SpokenLanguage, sounds: Sounds | None
) -> tuple[list[list[Token]], list[str]]:
    """The words of each text with their places in its source, and notices.

    sounds: the bundle's rules of the language; None: it goes by a converter. Raises InputError as `convert`.
    """
    parts = [list(_parts(source)) for source in sources]
    texts = [
        source.text[part.start : part.end]
        for source, found in zip(sources, parts, strict=True)
        for part in found
        if part.phonemes is None
    ]
    if sounds is None:
        conversion = convert(texts, code, language)
    else:
        conversion = Conversion([tuple(sounds(text)) for text in texts], [])
    read = iter(conversion.tokens)
    utterances = []
    for source, found in zip(sources, parts, strict=True):
        tokens: list[Token] = []
        for part in found:
            text = source.text[part.start : part.end]
            if part.phonemes is None:
                words = list(_words(text, next(read), code, language))
            else:
                words = [Token(text, 0, len(text), part.phonemes, "", origin=part.origin)]
            if words:
                words[-1] = replace(words[-1], space=part.space)
            tokens += (_placed(word, source, part.start) for word in words)
        utterances.append(tokens)
    unmet = any(link.phonemes is None for source in sources for link in source.links)
    return utterances, [*conversion.notices, *([_NO_STRESS] if unmet else [])]


def _words(text: str, tokens: Sequence[Token], code: str, language: SpokenLanguage) -> Iterable[Token]:
    """The tokens of a converter; of a text that was converted as a whole, its words."""
    if len(tokens) != 1 or tokens[0].origin != "converter":
        return tokens
    return aligned(text, tokens[0].phonemes.strip(), lambda words: convert(words, code, language).phonemes)


def _placed(token: Token, source: SourceText, offset: int) -> Token:
    first, last = token.start + offset, token.end + offset
    if first == last:  # a mark of the converter's own
        place = source.starts[first] if first < len(source.starts) else source.ends[-1]
        return replace(token, start=place, end=place)
    start, end = source.span(first, last)
    return replace(token, start=start, end=end)


def _parts(source: SourceText) -> Iterator[_Part]:
    done = 0
    for link in source.links:
        if link.phonemes is not None:
            yield from _between(source.text, done, link.start)
            yield _part(source.text, link.start, link.end, link.phonemes, link.origin)
            done = link.end
    yield from _between(source.text, done, len(source.text))


def _between(text: str, start: int, end: int) -> Iterator[_Part]:
    stretch = text[start:end]
    if any(map(str.isalnum, stretch)):
        yield _part(text, start, end)
    elif stretch.strip():
        yield _part(text, start, end, "".join(char for char in stretch if char in MARKS), "mark")


def _part(text: str, start: int, end: int, phonemes: str | None = None, origin: str = "") -> _Part:
    stretch = text[start:end]
    first = start + len(stretch) - len(stretch.lstrip())
    last = first + len(stretch.strip())
    return _Part(first, last, " " if text[last : last + 1].isspace() else "", phonemes, origin)
