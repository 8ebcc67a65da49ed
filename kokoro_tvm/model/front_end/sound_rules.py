"""A language's file of letter-to-sound rules: its schema, and how it is compiled for the bundle.

`sounds/README.md` says how such a file is written.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from kokoro_tvm.common.spec import Spec
from kokoro_tvm.model.front_end.yields import SOUNDS
from kokoro_tvm.recipe.validate import read_document
from kokoro_tvm.runtime.text.frontend.sounds import MOST, Item

__all__ = ["RuleError", "SoundsFile", "compiled_sounds", "sound_languages"]

_PLAIN = {
    "ß": "ss", "ç": "s", "æ": "ae", "œ": "oe", "ø": "o", "ð": "d", "þ": "t", "đ": "d", "ħ": "h", "ı": "i",
    "ł": "l", "ŋ": "ng", "ŧ": "t",
}  # fmt: skip
"""Letters that Unicode does not divide into a plain one and its accents."""
_UNACCENTED = str.maketrans("àèéìíòóùú", "aeeiioouu")
_REPEATS = {"*": (0, MOST), "+": (1, MOST), "?": (0, 1), "": (1, 1)}
_ITEM = re.compile(r"(?:\[(?P<not>\^?)(?P<set>[^\[\]]+)\]|(?P<char>[^\[\]*+?]))(?P<repeat>[*+?]?)")
_ALTERNATIVES = re.compile(r"([^{}]*)\{([^{}]*)\}(.*)")


class RuleError(ValueError):
    """A line that is no rule."""


class PassFile(Spec):
    """One reading of a word or of a clause from left to right."""

    unless: str = Field(default="", description="It is left out where one of these characters stands.")
    feeding: bool = Field(default=False, description="Whether the left side is seen as it was rewritten.")
    rules: str = Field(description="One rule a line.")


class SoundsFile(Spec):
    """How a language's letters are read."""

    letters: str = Field(description="The small letters that its words are written with.")
    classes: dict[str, str] = Field(default={}, description="Capital letters that stand for characters.")
    tags: dict[str, str] = Field(default={}, description="A sign put before these words, for rules to see.")
    words: dict[str, str] = Field(default={}, description="Words, and letters they are read as if written.")
    accents: dict[str, str] = Field(
        default={}, description="Endings, and accented stems of words that are written without the accent."
    )
    passes: tuple[PassFile, ...] = Field(description="What is done to a word, one after the other.")
    clauses: tuple[PassFile, ...] = Field(default=(), description="What is then done to words together.")

    @model_validator(mode="after")
    def _every_rule_fits(self) -> SoundsFile:
        for name in ("passes", "clauses"):
            for index, each in enumerate(getattr(self, name)):
                try:
                    list(_rules(each.rules, self.classes))
                except RuleError as error:
                    context = {"path": [name, index, "rules"], "why": str(error)}
                    raise PydanticCustomError("rule", "{why}", context) from error
        return self

    @model_validator(mode="after")
    def _every_word_is_there_once(self) -> SoundsFile:
        found = dict(self.words)
        for endings, word, accented in _inflected(self.accents):
            if found.setdefault(word, accented) != accented:
                context = {"path": ["accents", endings], "why": f"{accented} is also {found[word]}"}
                raise PydanticCustomError("accent", "{why}", context)
        return self


def sound_languages() -> tuple[str, ...]:
    """Names of the languages that have a file."""
    return tuple(sorted(path.stem for path in SOUNDS.glob("*.yaml")))


def compiled_sounds(language: str) -> dict[str, Any]:
    """What `runtime.text.frontend.sounds` reads of a language. Raises RecipeError."""
    return compiled_file(read_document(SOUNDS / f"{language}.yaml", SoundsFile))


def compiled_file(file: SoundsFile) -> dict[str, Any]:
    """The same of a file that is read already."""
    letters = file.letters.replace(" ", "") + "'"
    return {
        "letters": letters,
        "replacements": dict(_replacements(letters)),
        "tags": {word: tag for tag, words in file.tags.items() for word in words.split()},
        "words": file.words | {word: accented for _, word, accented in _inflected(file.accents)},
        "passes": [_pass(each, file.classes) for each in file.passes],
        "clauses": [_pass(each, file.classes) for each in file.clauses],
    }


def _inflected(accents: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Endings, a word as it is written, and as it is read: of each stem with each of its endings."""
    for endings, stems in accents.items():
        for stem in stems.split():
            for ending in endings.replace("-", "").split(" "):
                yield endings, (stem + ending).translate(_UNACCENTED), stem + ending


def _replacements(letters: str) -> Iterator[tuple[str, str]]:
    """Letters of Latin-1 and Latin Extended-A that the language has not, and what they are read as."""
    for char in map(chr, range(0xDF, 0x180)):
        plain = unicodedata.normalize("NFKD", _PLAIN.get(char, char)).lower()
        own = "".join(one for one in plain if one in letters)
        if char not in letters and own:
            yield char, own


def _pass(each: PassFile, classes: Mapping[str, str]) -> dict[str, Any]:
    return {"unless": each.unless, "feeding": each.feeding, "rules": list(_rules(each.rules, classes))}


def _rules(lines: str, classes: Mapping[str, str]) -> Iterator[tuple[Any, ...]]:
    for number, line in enumerate(lines.splitlines(), start=1):
        rule = line.split(";")[0].replace(" ", "")
        if rule:
            try:
                yield from _rule(rule, classes)
            except RuleError as error:
                raise RuleError(f"line {number}, `{line.strip()}`: {error}") from error


def _rule(rule: str, classes: Mapping[str, str]) -> Iterator[tuple[Any, ...]]:
    change, _, places = rule.partition("/")
    focuses, arrow, replacement = change.partition("->")
    if not arrow:
        raise RuleError("has no `->`")
    for focus in focuses.split(","):
        found = _items(focus, classes)
        if not found or any(not among or (least, most) != (1, 1) for _, among, least, most in found):
            raise RuleError("what is replaced is one character after another, each from a set")
        for place in places.split(",") if places else ("_",):
            left, gap, right = place.partition("_")
            if not gap:
                raise RuleError("has no `_` in its context")
            for before in _expanded(left):
                for behind in _expanded(right):
                    yield found, replacement, _items(before, classes)[::-1], _items(behind, classes)


def _expanded(pattern: str) -> Iterator[str]:
    """A pattern with `{one|other}` as several without."""
    if (choice := _ALTERNATIVES.fullmatch(pattern)) is None:
        yield pattern
        return
    for one in choice[2].split("|"):
        yield from _expanded(choice[1] + one + choice[3])


def _items(pattern: str, classes: Mapping[str, str]) -> list[Item]:
    found: list[Item] = []
    place = 0
    while place < len(pattern):
        item = _ITEM.match(pattern, place)
        if item is None:
            raise RuleError(f"`{pattern[place:]}` is no character, class or [set] with * + or ?")
        chars = item["set"] or item["char"]
        chars = "".join(dict.fromkeys("".join(classes.get(char, char) for char in chars)))
        found.append((chars, not item["not"], *_REPEATS[item["repeat"]]))
        place = item.end()
    return found
