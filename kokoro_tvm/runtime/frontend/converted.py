"""Texts that a converter of `languages.py` reads as a whole: what links give phonemes for stands between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kokoro_tvm.runtime.frontend.languages import convert
from kokoro_tvm.runtime.frontend.source import SourceText
from kokoro_tvm.runtime.frontend.tokens import Token, Utterance
from kokoro_tvm.runtime.plan import MARKS

__all__ = ["converted"]

_NO_STRESS = (
    "The stress of single words, and how a number is read, can be chosen with the English front end of a "
    "bundle alone; here such links and <emphasis> change nothing."
)


@dataclass(frozen=True)
class _Part:
    """A stretch of a text; phonemes: those a link gives, None where they have to be found."""

    start: int
    end: int
    phonemes: str | None = None
    origin: str = ""


def converted(sources: Sequence[SourceText], code: str) -> tuple[list[Utterance], list[str]]:
    """An utterance for each text, and notices. Each stretch between links is one token.

    Raises InputError as `convert` does.
    """
    parts = [list(_parts(source)) for source in sources]
    texts = [
        source.text[part.start : part.end].strip()
        for source, found in zip(sources, parts, strict=True)
        for part in found
        if part.phonemes is None
    ]
    conversion = convert(texts, code)
    phonemes = iter(conversion.phonemes)
    utterances = []
    for source, found in zip(sources, parts, strict=True):
        tokens = []
        for part in found:
            spoken = next(phonemes) if part.phonemes is None else part.phonemes
            tokens.append(_token(source, part, spoken))
        utterances.append(Utterance(tuple(tokens)))
    unmet = any(link.phonemes is None for source in sources for link in source.links)
    return utterances, [*conversion.notices, *([_NO_STRESS] if unmet else [])]


def _parts(source: SourceText) -> Iterator[_Part]:
    done = 0
    for link in source.links:
        if link.phonemes is not None:
            yield from _between(source.text, done, link.start)
            yield _Part(link.start, link.end, link.phonemes, link.origin)
            done = link.end
    yield from _between(source.text, done, len(source.text))


def _between(text: str, start: int, end: int) -> Iterator[_Part]:
    stretch = text[start:end]
    if any(map(str.isalnum, stretch)):
        yield _Part(start, end)
    elif stretch.strip():
        yield _Part(start, end, "".join(char for char in stretch if char in MARKS), "mark")


def _token(source: SourceText, part: _Part, phonemes: str) -> Token:
    stretch = source.text[part.start : part.end]
    first = part.start + len(stretch) - len(stretch.lstrip())
    last = first + len(stretch.strip())
    spaced = source.text[last : last + 1].isspace()
    start, end = source.span(first, last)
    return Token(
        source.text[first:last], start, end, phonemes, " " if spaced else "", "", part.origin or "converter"
    )
