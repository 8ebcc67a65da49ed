"""A user's lexicon: words with phonemes or respellings, which become links of every text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import shorten
from kokoro_tvm.runtime.text.frontend.alphabet import restress
from kokoro_tvm.runtime.text.frontend.respelling import is_respelling, phonemize_respelling
from kokoro_tvm.runtime.text.frontend.source import Link, SourceText
from kokoro_tvm.runtime.text.frontend.tokens import is_word_character
from kokoro_tvm.runtime.text.markup.values import check_symbols

_APOSTROPHES = str.maketrans({"’": "'", "‘": "'"})
_MAX_CHARACTERS = 200  # of a word, and of its phonemes


class UserLexicon:
    """Phonemes by spelling; a spelling in lower case matches any other that has no entry."""

    def __init__(self, entries: Mapping[str, str]) -> None:
        """Create a lexicon from words (or several words) and their phonemes."""
        self.entries = {_normalize_spelling(word): phonemes for word, phonemes in entries.items()}
        lengths: dict[str, set[int]] = {}
        for word in self.entries:
            lengths.setdefault(word[0].lower(), set()).add(len(word))
        self._lengths = {first: sorted(sizes, reverse=True) for first, sizes in lengths.items()}

    def linked(self, source: SourceText, spaced: bool = True) -> SourceText:
        """Return the text with a link for each entry in it, longest first, except within fixed links.

        Args:
            source: The text.
            spaced: Whether the language has spaces between words; else an entry may stand within letters.
        """
        if not self.entries:
            return source
        others = [link for link in source.links if not link.is_fixed]
        fixed = [link for link in source.links if link.is_fixed]
        entries = []
        for link in self._find_entries(source.text, spaced):
            if _find_overlap(link, fixed) is None:
                other = _find_overlap(link, others)
                stress = None if other is None else other.stress
                entries.append(replace(link, phonemes=restress(link.phonemes or "", stress)))
        others = [other for other in others if _find_overlap(other, entries) is None]
        links = sorted([*fixed, *others, *entries], key=lambda link: link.start)
        return replace(source, links=tuple(links))

    def _find_entries(self, text: str, spaced: bool) -> Iterator[Link]:
        spelling = text.translate(_APOSTROPHES)
        place = 0
        while place < len(text):
            end = self._find_end(spelling, place, spaced)
            if end is None:
                place += 1
            else:
                word = spelling[place:end]
                phonemes = self.entries.get(word, "") or self.entries[word.lower()]
                yield Link(place, end, phonemes=phonemes, origin="user lexicon")
                place = end

    def _find_end(self, text: str, place: int, spaced: bool) -> int | None:
        """Return the end of the longest entry that begins at a place, or None."""
        if spaced and place and is_word_character(text[place]) and is_word_character(text[place - 1]):
            return None
        for length in self._lengths.get(text[place].lower(), ()):
            word, end = text[place : place + length], place + length
            if word not in self.entries and word.lower() not in self.entries:
                continue
            if not (
                spaced and is_word_character(word[-1]) and any(map(is_word_character, text[end : end + 1]))
            ):
                return end
        return None


def _normalize_spelling(word: str) -> str:
    return " ".join(word.translate(_APOSTROPHES).split())


def _find_overlap(link: Link, others: Sequence[Link]) -> Link | None:
    """Return the first of `others`, which are in order, that shares a character with a link, or None."""
    place = bisect_right(others, link.start, key=lambda other: other.end)
    return others[place] if place < len(others) and others[place].start < link.end else None


def parse_lexicon(entries: Mapping[str, str], symbols: Collection[str]) -> UserLexicon:
    """Create a lexicon from words and their phonemes, or respellings such as kuh-TAR.

    Args:
        entries: By word, or by several words.
        symbols: The phonemes that the model knows.

    Raises:
        InputError: A word is empty, or its phonemes are unknown.
    """
    parsed = {}
    for word, phonemes in entries.items():
        try:
            parsed[" ".join(word.split())] = _parse_entry(word, phonemes, symbols)
        except InputError as error:
            raise InputError(f"The lexicon has a mistake at {shorten(word)!r}: {error}") from error
    return UserLexicon(parsed)


def _parse_entry(word: str, phonemes: str, symbols: Collection[str]) -> str:
    """Return the phonemes of an entry. Raises InputError."""
    if not word.strip() or not phonemes.strip():
        raise InputError("this is empty; a line is `word: phonemes`, with marks such as # in quotes")
    if (length := max(len(word), len(phonemes))) > _MAX_CHARACTERS:
        raise InputError(f"this has {length} characters; {_MAX_CHARACTERS} are the most")
    return check_symbols(phonemize_respelling(phonemes) if is_respelling(phonemes) else phonemes, symbols)


def read_lexicon(path: str | Path, symbols: Collection[str]) -> UserLexicon:
    """Read a file of lines `word: phonemes`, or `word: respelling` (kuh-TAR).

    Args:
        path: YAML file.
        symbols: The phonemes that the model knows.

    Raises:
        InputError: The file cannot be read, is no mapping, or has a word twice or phonemes that are unknown.
    """
    try:
        from kokoro_tvm.common.yaml_file import parse_yaml, read_text
    except ImportError as error:
        raise InputError(
            f"Reading a lexicon needs PyYAML, which cannot be imported ({error}). Run `pip install PyYAML`."
        ) from error
    entries: dict[str, str] = {}
    tree = parse_yaml(read_text(Path(path), InputError), strings=True, max_depth=1)
    for word, node in tree.entries.items():
        spelling, phonemes = " ".join(word.split()), str(node.value)
        if spelling in entries:
            raise node.key.error(f"the word `{shorten(spelling)}` stands here twice; remove one of them")
        try:
            entries[spelling] = _parse_entry(word, phonemes, symbols)
        except InputError as error:
            raise node.span.error(str(error)) from error
    return UserLexicon(entries)
