"""Written forms to the words they are read as, before the front end: each step keeps its places."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kokoro_tvm.runtime.frontend.normalization import characters, emoji, markdown
from kokoro_tvm.runtime.frontend.normalization.language import Language
from kokoro_tvm.runtime.frontend.normalization.scanner import Scanner
from kokoro_tvm.runtime.frontend.source import SourceText, free

__all__ = ["FORMS", "LANGUAGE_FILES", "Normalized", "normalize"]

LANGUAGE_FILES = {
    "a": "en",
    "b": "en",
    "e": "es",
    "f": "fr",
    "h": "hi",
    "i": "it",
    "j": "ja",
    "p": "pt",
    "z": "zh",
}
"""The letter of a language, and the name of its file of written forms."""

FORMS: dict[str, Collection[str]] = {
    "all": (),
    "units": ("measure",),
    "web": ("web",),
    "mail": ("mail",),
    "phones": ("phone",),
    "signs": ("tag", "power", "sign"),
}
"""Kinds of written forms that can be left unread, with those of the languages' files; "all" is every kind but
numbers."""
_NUMBERS = frozenset({"number", "ordinal"})

# What is no language: markup, and how characters are written. An entity may write a tag, which is none then.
_FIRST = (
    markdown.tags,
    markdown.entities,
    markdown.marks,
    characters.composed,
    characters.apostrophes,
    characters.dashes,
)


@dataclass(frozen=True)
class Normalized:
    """source: a text as it is to be read; notices: what of it was left out or is read otherwise."""

    source: SourceText
    notices: tuple[str, ...] = ()


def normalize(
    source: SourceText, language: Language | None, names: bool = False, unread: Collection[str] = ()
) -> Normalized:
    """The text as it is to be read in a language; what a link gives phonemes for stays as it is.

    language: None leaves written forms as they stand; names: whether emoji are read by their English names;
    unread: kinds of forms, of FORMS, that are not read by their rules: their words, figures and signs are.
    """
    source = source.edited(free(markdown.pictures(source), source.links))
    for edits in (*_FIRST, *([emoji.names] if names and "all" not in unread else [])):
        source = source.edited(free(edits(source.text), source.links))
    if language is None:
        return Normalized(source)
    passed = {kind for form in unread for kind in FORMS[form]}
    if "all" in unread:
        passed = {rule.kind for rule in language.rules} - _NUMBERS
    scan = Scanner(language, passed).scan(source)
    notices = []
    if scan.left_out:
        notices.append(f"Left out, because this voice's language cannot say it: {_distinct(scan.left_out)}")
    if scan.changed:
        changed = _distinct([f"{written} as {said}" for written, said in scan.changed], ", ")
        notices.append(f"Read with other letters: {changed}")
    return Normalized(source.edited(scan.edits), tuple(notices))


def _distinct(words: list[str], joint: str = " ") -> str:
    return joint.join(dict.fromkeys(words))
