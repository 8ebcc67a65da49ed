"""Language files of written forms: their schema, and their compilation for the bundle.

`text/README.md` describes the files.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from kokoro_tvm.common.spec import Spec
from kokoro_tvm.common.words import hint
from kokoro_tvm.model.front_end.cldr import Cldr
from kokoro_tvm.model.front_end.patterns import (
    PatternError,
    begins_with_group,
    check_pattern,
    check_spoken,
    find_beginnings,
    find_needed_characters,
)
from kokoro_tvm.model.front_end.yields import TEXT
from kokoro_tvm.recipe.validate import read_document
from kokoro_tvm.runtime.text.frontend.normalization.templates import LISTED_VERBS, VERBS, template_parts

_MACRO = re.compile(r"\{(?:(?P<group>[a-z]\w*)|(?P<named>[a-z]\w*):(?P<type>[A-Za-z]\w*))\}")
_GROUP = re.compile(r"\(\?P<(\w+)>")


class PatternType(Spec):
    """Named part of a pattern."""

    match: str = Field(description="A regular expression.")
    say: str = Field(default="", description="How it is said where a template does not say: a verb.")


class ListItem(Spec):
    """Meaning of a word of a list."""

    unit: str = Field(default="", description="A unit of CLDR, such as length-kilometer.")
    currency: str = Field(default="", description="A currency of CLDR, such as USD.")
    one: str = Field(default="", description="What is said for one.")
    other: str = Field(default="", description="What is said for several.")
    gender: Literal["", "masculine", "feminine"] = Field(
        default="", description="Gender of numbers before it."
    )
    minor_one: str = Field(default="", description="Its hundredth part, for one.")
    minor_other: str = Field(default="", description="Its hundredth part, for several.")
    minor_gender: Literal["", "masculine", "feminine"] = Field(
        default="", description="Gender of numbers before its hundredth part."
    )


class Spellout(Spec):
    """Numbers in words."""

    names: dict[str, str] = Field(description="Verb, and the set of rules of CLDR it stands for.")
    hyphen: str = Field(default="-", description="What stands in the place of a hyphen.")
    more: dict[str, dict[str, str]] = Field(default={}, description="Rules that CLDR has not, by set.")


class Numbers(Spec):
    """How numbers are written and said."""

    decimal: Literal[".", ","] = Field(description="The decimal separator.")
    decimals: Literal["figures", "number"] = Field(description="How what stands behind it is said.")
    point: str = Field(description="How it is said.")
    joint: str = Field(default=" ", description="What stands between words.")
    singular: str = Field(description="A regular expression of the numbers that count one.")
    figures: tuple[str, ...] = Field(
        default=(), description="Figures one by one, from 0; else the cardinals."
    )


class RuleLine(Spec):
    """Written form, and what is said for it."""

    kind: str = Field(pattern=r"^[a-z]+$", description="Kind of form.")
    match: str | tuple[str, ...] = Field(description="A pattern, or several.")
    say: str | dict[str, str] = Field(description="A template, or one for each letter of a language.")
    after: str = Field(default="", description="What stands before it.")
    not_after: str = Field(default="", description="What does not stand before it.")
    where: Literal["word", "loose", "inside"] = Field(default="word", description="Where it may begin.")
    open: bool = Field(default=False, description="Whether a letter or a figure may follow.")
    only: str = Field(default="", description="Letters of the languages it is for, of several.")

    @property
    def patterns(self) -> tuple[str, ...]:
        """Its patterns."""
        return (self.match,) if isinstance(self.match, str) else self.match

    @property
    def templates(self) -> dict[str, str]:
        """Its templates by the letters of the languages that they are for, "" for all."""
        return {self.only: self.say} if isinstance(self.say, str) else self.say


class DoubtLine(Spec):
    """Context that speaks against a kind of form."""

    kind: str = Field(description="The kind of rules whose forms it makes dearer.")
    cost: int = Field(gt=0, description="By how much: 1 for another rule, 2 for the text as written too.")
    after: str = Field(default="", description="What stands before the form.")
    before: str = Field(default="", description="What stands behind it.")
    near: str = Field(default="", description="What stands anywhere in the paragraph.")
    unless: str = Field(default="", description="What stands nowhere in the paragraph.")
    next: tuple[str, ...] = Field(default=(), description="Parts of speech of the next word.")
    alone: tuple[str, ...] = Field(default=(), description="Kinds of forms that stand nowhere else.")


class LanguageFile(Spec):
    """Written forms of a language."""

    cldr: str = Field(description="The language's name in CLDR.")
    spellout: Spellout
    numbers: Numbers
    letters: str = Field(description="A class of the letters it is written with.")
    replacements: dict[str, str] = Field(default={}, description="Letters written with these.")
    types: dict[str, str | PatternType] = Field(default={}, description="Parts of patterns.")
    lists: dict[str, dict[str, str | ListItem]] = Field(
        default={}, description="Words and what they stand for."
    )
    any_case: tuple[str, ...] = Field(default=(), description="Lists whose words may be written large.")
    signs: dict[str, str] = Field(default={}, description="Signs that are said wherever they stand.")
    rules: tuple[RuleLine, ...] = Field(description="Written forms, the first that fits first.")
    doubts: tuple[DoubtLine, ...] = Field(default=(), description="What speaks against a form.")

    @model_validator(mode="after")
    def _every_rule_fits(self) -> LanguageFile:
        """Raise PydanticCustomError for a rule with an invalid pattern or template."""
        lists, types = _words_and_types(self)
        for index, rule in enumerate(self.rules):
            where: list[int | str] = ["rules", index, "match"]
            try:
                patterns = [check_pattern(pattern, lists, types) for pattern in rule.patterns]
                if any(pattern.fullmatch("") for pattern in patterns):
                    raise PatternError("it fits where nothing stands")
                groups = {group for pattern in patterns for group in pattern.groupindex}
                for template in rule.templates.values():
                    _check_say(template, self, groups)
                    for pattern in patterns:
                        check_spoken(pattern, {group for group, _, _ in template_parts(template)})
                where[2] = "after"
                for condition in (rule.after, rule.not_after):
                    check_pattern(condition, lists, types)
            except PatternError as error:
                context = {"path": where, "why": str(error)}
                raise PydanticCustomError("pattern", "{why}", context) from error
        kinds = {rule.kind for rule in self.rules}
        for index, doubt in enumerate(self.doubts):
            try:
                for kind in (doubt.kind, *doubt.alone):
                    if kind not in kinds:
                        raise PatternError(f"no rule has the kind `{kind}`{hint(kind, tuple(kinds))}")
                for condition in (doubt.after, doubt.before, doubt.near, doubt.unless):
                    check_pattern(condition, lists, types)
            except PatternError as error:
                context = {"path": ["doubts", index], "why": str(error)}
                raise PydanticCustomError("pattern", "{why}", context) from error
        return self


def _check_say(say: str, file: LanguageFile, groups: set[str]) -> None:
    """Raise PatternError if a template names a group, verb or list that there is not."""
    for group, verb, by in template_parts(say):
        for name in (group, *((by,) if by and verb not in LISTED_VERBS else ())):
            if name not in groups:
                raise PatternError(f"the template asks for `{name}`, which the pattern does not have")
        if verb and verb not in (*VERBS, *file.spellout.names):
            raise PatternError(f"there is no verb `{verb}`{hint(verb, (*VERBS, *file.spellout.names))}")
        if verb in LISTED_VERBS and (by or verb != "groups") and by not in file.lists:
            raise PatternError(f"there is no list `{by}`{hint(by, tuple(file.lists))}")


def _words_and_types(file: LanguageFile) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return lists and types as the runtime reads them; of CLDR's entries the words alone."""
    lists = {name: dict.fromkeys(words, "") for name, words in file.lists.items()}
    return lists, _types(file)


def _types(file: LanguageFile) -> dict[str, dict[str, str]]:
    """Return the types as the runtime reads them."""
    return {
        name: {"match": entry, "say": ""} if isinstance(entry, str) else entry.model_dump()
        for name, entry in file.types.items()
    }


def list_languages() -> tuple[str, ...]:
    """Return the names of the languages that have a file."""
    return tuple(sorted(path.stem for path in TEXT.glob("*.yaml")))


def read_language_file(language: str) -> LanguageFile:
    """Read the file of a language.

    Raises:
        RecipeError: The file is invalid.
    """
    return read_document(TEXT / f"{language}.yaml", LanguageFile)


def compile_language(language: str, folder: Path) -> dict[str, Any]:
    """Compile a language's file, with CLDR's data in `folder`, to what the runtime reads.

    Raises:
        RecipeError: The file is invalid.
        BuildError: CLDR's data is missing or has another form.
    """
    file = read_language_file(language)
    cldr = Cldr(folder, file.cldr)
    lists = {name: _entries(name, file, cldr) for name in file.lists}
    types = _types(file)
    rules = []
    for rule in file.rules:
        for (only, say), pattern in product(rule.templates.items(), rule.patterns):
            may_go_on = rule.open or rule.where == "inside" or not file.numbers.joint
            bounded = pattern if may_go_on else pattern + "(?!{:W})"
            written = check_pattern(bounded, lists, types)
            first, begins = find_beginnings(written)
            lead = _MACRO.match(pattern) if begins_with_group(written) else None
            kind = (lead["group"] or lead["type"]) if lead else ""
            compiled = {
                "kind": rule.kind,
                "pattern": bounded,
                "say": say,
                "types": {
                    match["group"] or match["named"]: match["group"] or match["type"]
                    for match in _MACRO.finditer(pattern)
                },
                "after": f"(?:{rule.after})$" if rule.after else "",
                "not_after": f"(?:{rule.not_after})$" if rule.not_after else "",
                "where": rule.where,
                "only": only,
                "first": first,
                "begins": begins,
                "lead": kind if kind in lists else "",
                "needs": find_needed_characters(written),
            }
            rules.append({key: value for key, value in compiled.items() if value or key in ("types", "say")})
    names = {verb: f"%{name}" for verb, name in file.spellout.names.items()}
    return {
        "spellout": {
            "names": names,
            "sets": cldr.spellout(
                set(file.spellout.names.values()), file.spellout.more, file.spellout.hyphen
            ),
        },
        "numbers": file.numbers.model_dump(),
        "letters": file.letters,
        "replacements": file.replacements,
        "types": types,
        "lists": lists,
        "signs": file.signs,
        "rules": rules,
        "doubts": [
            {
                "kind": doubt.kind,
                "cost": doubt.cost,
                "after": f"(?:{doubt.after})$" if doubt.after else "",
                "before": doubt.before,
                "near": doubt.near,
                "unless": doubt.unless,
                "next": doubt.next,
                "alone": doubt.alone,
            }
            for doubt in file.doubts
        ],
    }


def _entries(name: str, file: LanguageFile, cldr: Cldr) -> dict[str, Any]:
    """Return the entries of a list, with CLDR's words and in the letter cases that are read."""
    entries: dict[str, Any] = {}
    for word, item in file.lists[name].items():
        if word == "cldr":
            entries |= cldr.numbered() if item == "numbers" else cldr.names(str(item))
        elif isinstance(item, str):
            entries[word] = item
        else:
            fields = {name: value for name, value in item.model_dump().items() if value}
            base = cldr.unit(fields.pop("unit")) if item.unit else {}
            base |= cldr.currency(fields.pop("currency")) if item.currency else {}
            entries[word] = base | fields
    if name in file.any_case:
        cased = {
            form: item
            for word, item in entries.items()
            for form in (word.lower(), word.upper(), word.capitalize())
        }
        entries = cased | entries
    return entries
