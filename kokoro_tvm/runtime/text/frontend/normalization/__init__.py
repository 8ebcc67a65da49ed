"""Written forms to the words they are read as, before the front end: each step keeps its places."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kokoro_tvm.runtime.notices import listed
from kokoro_tvm.runtime.text.frontend.normalization import characters, emoji, markdown
from kokoro_tvm.runtime.text.frontend.normalization.language import LanguageRules
from kokoro_tvm.runtime.text.frontend.normalization.scanner import Verbalizer
from kokoro_tvm.runtime.text.frontend.source import SourceText, skip_links

__all__ = ["FORM_KINDS", "LANGUAGE_FILES", "NormalizedText", "normalize"]

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

FORM_KINDS: dict[str, Collection[str]] = {
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
class NormalizedText:
    """source: a text as it is to be read; plain: the same without markup, as it is written; notices: what of
    it is read otherwise."""

    source: SourceText
    plain: SourceText
    notices: tuple[str, ...] = ()


def normalize(
    source: SourceText, language: LanguageRules | None, names: bool = False, unread: Collection[str] = ()
) -> NormalizedText:
    """The text as it is to be read in a language; what a link gives phonemes for stays as it is.

    language: None leaves written forms as they stand; names: whether emoji are read by their English names;
    unread: kinds of forms, of FORMS, that are not read by their rules: their words, figures and signs are.
    """
    source = source.apply_edits(skip_links(markdown.pictures(source), source.links))
    for edits in (*_FIRST, *([emoji.names] if names and "all" not in unread else [])):
        source = source.apply_edits(skip_links(edits(source.text), source.links))
    plain, notices = source, []
    if language is not None:
        passed = {kind for form in unread for kind in FORM_KINDS[form]}
        if "all" in unread:
            passed = {rule.kind for rule in language.rules} - _NUMBERS
        scan = Verbalizer(language, passed).scan(source)
        source = source.apply_edits(scan.edits)
        changed = dict.fromkeys(f"{written} as {said}" for written, said in scan.changed)
        if changed:
            notices.append(f"Read with other letters: {listed(changed, ', ')}")
    divided = list(skip_links(characters.divided(source.text), source.links))
    if divided:
        words = dict.fromkeys(source.text[edit.start : edit.end] for edit in divided)
        notices.append(f"Divided, because it is too long for a word: {listed(words)}")
    return NormalizedText(source.apply_edits(divided), plain, tuple(notices))
