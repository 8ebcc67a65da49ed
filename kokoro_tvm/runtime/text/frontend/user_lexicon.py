"""Words whose phonemes a user gives in a YAML file of `word: phonemes`: in whatever text they stand, they
become links of it. A mistake in the file is an error with line and column."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import shorten
from kokoro_tvm.runtime.text.frontend.alphabet import restress
from kokoro_tvm.runtime.text.frontend.source import Link, SourceText
from kokoro_tvm.runtime.text.frontend.tokens import in_word
from kokoro_tvm.runtime.text.markup.values import check_symbols

__all__ = ["UserLexicon", "read_lexicon"]

_APOSTROPHES = str.maketrans({"’": "'", "‘": "'"})
_MAX_CHARACTERS = 200  # of a word, and of its phonemes


class UserLexicon:
    """Phonemes by spelling; a spelling in small letters stands for all others that no entry has."""

    def __init__(self, entries: Mapping[str, str]) -> None:
        """entries: word or words -> phonemes in the alphabet of the voices."""
        self.entries = {_spelled(word): phonemes for word, phonemes in entries.items()}
        lengths: dict[str, set[int]] = {}
        for word in self.entries:
            lengths.setdefault(word[0].lower(), set()).add(len(word))
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}

    def linked(self, source: SourceText, spaced: bool = True) -> SourceText:
        """The text with a link for each of its words that is an entry, longest first, unless a link has it.

        spaced: whether words have spaces between them; without, an entry may stand within letters.
        """
        if not self.entries:
            return source
        others = [link for link in source.links if not link.fixed]
        taken = [link for link in source.links if link.fixed]
        found = []
        for link in self._found(source.text, spaced):
            if _overlapping(link, taken) is None:
                other = _overlapping(link, others)
                stress = None if other is None else other.stress
                found.append(replace(link, phonemes=restress(link.phonemes or "", stress)))
        others = [other for other in others if _overlapping(other, found) is None]
        links = sorted([*taken, *others, *found], key=lambda link: link.start)
        return replace(source, links=tuple(links))

    def _found(self, text: str, spaced: bool) -> Iterator[Link]:
        spelled = text.translate(_APOSTROPHES)
        place = 0
        while place < len(text):
            end = self._end(spelled, place, spaced)
            if end is None:
                place += 1
            else:
                word = spelled[place:end]
                phonemes = self.entries.get(word, "") or self.entries[word.lower()]
                yield Link(place, end, phonemes=phonemes, origin="user lexicon")
                place = end

    def _end(self, text: str, place: int, spaced: bool) -> int | None:
        """Where the longest entry ends that begins at a place of the text."""
        if spaced and place and in_word(text[place]) and in_word(text[place - 1]):
            return None
        for length in self._lengths.get(text[place].lower(), ()):
            word, end = text[place : place + length], place + length
            if word not in self.entries and word.lower() not in self.entries:
                continue
            if not (spaced and in_word(word[-1]) and any(map(in_word, text[end : end + 1]))):
                return end
        return None


def _spelled(word: str) -> str:
    return " ".join(word.translate(_APOSTROPHES).split())


def _overlapping(link: Link, others: Sequence[Link]) -> Link | None:
    """The first of others, which are in the order of their places, that has a character of a link."""
    place = bisect_right(others, link.start, key=lambda other: other.end)
    return others[place] if place < len(others) and others[place].start < link.end else None


def read_lexicon(path: str | Path, symbols: Collection[str]) -> UserLexicon:
    """Read a file of lines `word: phonemes`.

    Args:
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
        spelled, phonemes = " ".join(word.split()), str(node.value)
        if not spelled or not phonemes.strip():
            raise node.span.error("this is empty; a line is `word: phonemes`, with marks such as # in quotes")
        if (length := max(len(word), len(phonemes))) > _MAX_CHARACTERS:
            raise node.span.error(f"this has {length} characters; {_MAX_CHARACTERS} are the most")
        if spelled in entries:
            raise node.key.error(f"the word `{shorten(spelled)}` stands here twice; remove one of them")
        try:
            entries[spelled] = check_symbols(phonemes, symbols)
        except InputError as error:
            raise node.span.error(str(error)) from error
    return UserLexicon(entries)
