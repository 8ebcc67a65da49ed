"""Language files of letter-to-sound rules: their schema, and their compilation for the bundle.

`sounds/README.md` describes the files.
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
from kokoro_tvm.runtime.text.frontend.sounds import MAX_REPEATS, PatternItem

# Letters that Unicode does not decompose.
_PLAIN = {
    "ß": "ss", "ç": "s", "æ": "ae", "œ": "oe", "ø": "o", "ð": "d", "þ": "t", "đ": "d", "ħ": "h", "ı": "i",
    "ł": "l", "ŋ": "ng", "ŧ": "t",
}  # fmt: skip
_UNACCENTED = str.maketrans("àèéêìíòóôùú", "aeeeiiooouu")
_REPEATS = {"*": (0, MAX_REPEATS), "+": (1, MAX_REPEATS), "?": (0, 1), "": (1, 1)}
_ITEM = re.compile(r"(?:\[(?P<not>\^?)(?P<set>[^\[\]]+)\]|(?P<char>[^\[\]*+?]))(?P<repeat>[*+?]?)")
_ALTERNATIVES = re.compile(r"([^{}]*)\{([^{}]*)\}(.*)")


class RuleError(ValueError):
    """Line that is no rule."""


class PassFile(Spec):
    """Pass over a word or a clause from left to right."""

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
        """Raise PydanticCustomError for a line that is no rule."""
        for name in ("passes", "clauses"):
            for index, rule_pass in enumerate(getattr(self, name)):
                try:
                    list(_parse_rules(rule_pass.rules, self.classes))
                except RuleError as error:
                    context = {"path": [name, index, "rules"], "why": str(error)}
                    raise PydanticCustomError("rule", "{why}", context) from error
        return self

    @model_validator(mode="after")
    def _every_word_is_there_once(self) -> SoundsFile:
        """Raise PydanticCustomError for a word with two accented spellings."""
        words = dict(self.words)
        for endings, word, accented in _inflect(self.accents):
            if words.setdefault(word, accented) != accented:
                context = {"path": ["accents", endings], "why": f"{accented} is also {words[word]}"}
                raise PydanticCustomError("accent", "{why}", context)
        return self


def list_sound_languages() -> tuple[str, ...]:
    """Return the names of the languages that have a file."""
    return tuple(sorted(path.stem for path in SOUNDS.glob("*.yaml")))


def compile_sounds(language: str) -> dict[str, Any]:
    """Compile a language's file to what `runtime.text.frontend.sounds` reads.

    Raises:
        RecipeError: The file is invalid.
    """
    return compile_sounds_file(read_document(SOUNDS / f"{language}.yaml", SoundsFile))


def compile_sounds_file(file: SoundsFile) -> dict[str, Any]:
    """Compile a file that is already read."""
    letters = file.letters.replace(" ", "") + "'"
    return {
        "letters": letters,
        "replacements": dict(_replacements(letters)),
        "tags": {word: tag for tag, words in file.tags.items() for word in words.split()},
        "words": file.words | {word: accented for _, word, accented in _inflect(file.accents)},
        "passes": [_compile_pass(rule_pass, file.classes) for rule_pass in file.passes],
        "clauses": [_compile_pass(rule_pass, file.classes) for rule_pass in file.clauses],
    }


def _inflect(accents: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield key of `accents`, word and accented word for each stem and ending; "-" is no ending."""
    for endings, stems in accents.items():
        for stem in stems.split():
            for ending in endings.replace("-", "").split(" "):
                yield endings, (stem + ending).translate(_UNACCENTED), stem + ending


def _replacements(letters: str) -> Iterator[tuple[str, str]]:
    """Yield letters of Latin-1 and Latin Extended-A that the language lacks, with their replacement."""
    for char in map(chr, range(0xDF, 0x180)):
        plain = unicodedata.normalize("NFKD", _PLAIN.get(char, char)).lower()
        own = "".join(one for one in plain if one in letters)
        if char not in letters and own:
            yield char, own


def _compile_pass(rule_pass: PassFile, classes: Mapping[str, str]) -> dict[str, Any]:
    """Return a pass as the runtime reads it. Raises RuleError."""
    return {
        "unless": rule_pass.unless,
        "feeding": rule_pass.feeding,
        "rules": list(_parse_rules(rule_pass.rules, classes)),
    }


def _parse_rules(lines: str, classes: Mapping[str, str]) -> Iterator[tuple[Any, ...]]:
    """Yield the compiled rules of lines, `;` begins a comment. Raises RuleError with the line."""
    for number, line in enumerate(lines.splitlines(), start=1):
        rule = line.split(";")[0].replace(" ", "")
        if rule:
            try:
                yield from _parse_rule(rule, classes)
            except RuleError as error:
                raise RuleError(f"line {number}, `{line.strip()}`: {error}") from error


def _parse_rule(rule: str, classes: Mapping[str, str]) -> Iterator[tuple[Any, ...]]:
    """Yield the rules of `focus -> replacement / left _ right`, one for each choice. Raises RuleError."""
    change, _, places = rule.partition("/")
    focuses, arrow, replacement = change.partition("->")
    if not arrow:
        raise RuleError("has no `->`")
    for focus in focuses.split(","):
        focus_items = _parse_items(focus, classes)
        if not focus_items or any(
            not among or (least, most) != (1, 1) for _, among, least, most in focus_items
        ):
            raise RuleError("what is replaced is one character after another, each from a set")
        for place in places.split(",") if places else ("_",):
            left, gap, right = place.partition("_")
            if not gap:
                raise RuleError("has no `_` in its context")
            for before in _expand_choices(left):
                for after in _expand_choices(right):
                    yield (
                        focus_items,
                        replacement,
                        _parse_items(before, classes)[::-1],
                        _parse_items(after, classes),
                    )


def _expand_choices(pattern: str) -> Iterator[str]:
    """Yield a pattern with `{one|other}` as several without."""
    if (choice := _ALTERNATIVES.fullmatch(pattern)) is None:
        if "{" in pattern or "}" in pattern:
            raise RuleError(f"`{pattern}` has one choice inside another, or half of one")
        yield pattern
        return
    for option in choice[2].split("|"):
        yield from _expand_choices(choice[1] + option + choice[3])


def _parse_items(pattern: str, classes: Mapping[str, str]) -> list[PatternItem]:
    """Parse characters, classes and sets to (characters, is one of them, least, most). Raises RuleError."""
    items: list[PatternItem] = []
    place = 0
    while place < len(pattern):
        item = _ITEM.match(pattern, place)
        if item is None:
            raise RuleError(f"`{pattern[place:]}` is no character, class or [set] with * + or ?")
        chars = item["set"] or item["char"]
        chars = "".join(dict.fromkeys("".join(classes.get(char, char) for char in chars)))
        items.append((chars, not item["not"], *_REPEATS[item["repeat"]]))
        place = item.end()
    return items
