"""Text normalization: from written forms to the words that are read, with places kept."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kokoro_tvm.runtime.notices import Notice, listed
from kokoro_tvm.runtime.text.frontend.normalization import characters, emoji, markdown
from kokoro_tvm.runtime.text.frontend.normalization.language import LanguageRules
from kokoro_tvm.runtime.text.frontend.normalization.scanner import Choice, TagFunction, Verbalizer
from kokoro_tvm.runtime.text.frontend.source import SourceText, skip_links

__all__ = ["FORM_KINDS", "LANGUAGE_FILES", "FormChoice", "NormalizedText", "normalize"]

LANGUAGE_FILES = dict(zip("abefhijpz", ("en", "en", "es", "fr", "hi", "it", "ja", "pt", "zh"), strict=True))
"""Letter of a language to the name of its file of written forms."""

FORM_KINDS: dict[str, Collection[str]] = {
    "all": (),
    "units": ("measure", "scaled", "spoon", "stone", "amps", "attribute"),
    "web": ("web", "dotted"),
    "mail": ("mail",),
    "phones": ("phone", "shortcode", "hotline", "subscriber"),
    "signs": ("tag", "power", "sign"),
}
"""Kinds that `unread` takes, with the kinds of the languages' files; "all" is every kind but numbers."""
_NUMBERS = frozenset({"number", "ordinal", "year"})

# Steps for every language. Tags come before entities, so that an entity cannot write a tag.
_STEPS = (
    markdown.remove_tags,
    markdown.decode_entities,
    markdown.remove_marks,
    characters.compose_letters,
    characters.expand_ligatures,
    characters.unify_apostrophes,
    characters.unify_dashes,
)


@dataclass(frozen=True)
class FormChoice:
    """Choice among the proposals at a place.

    Attributes:
        span: First and last place of the chosen form in the source.
        choice: The proposals.
    """

    span: tuple[int, int]
    choice: Choice


@dataclass(frozen=True)
class NormalizedText:
    """Result of `normalize`.

    Attributes:
        source: The text as it is read.
        plain: The text as it is written, without markup.
        notices: What is read with other letters, or divided.
        choices: What rules proposed, for an explanation.
    """

    source: SourceText
    plain: SourceText
    notices: tuple[str, ...] = ()
    choices: tuple[FormChoice, ...] = ()


def normalize(
    source: SourceText,
    language: LanguageRules | None,
    names: bool = False,
    unread: Collection[str] = (),
    tag: TagFunction | None = None,
) -> NormalizedText:
    """Normalize a text; characters of fixed links do not change.

    Args:
        source: The text with its links.
        language: Rules for written forms; without them these stay as they are.
        names: Whether emoji are read by their English names.
        unread: Keys of `FORM_KINDS`: kinds of forms that are read word by word and sign by sign.
        tag: Tagger of the language, if there is one.
    """
    source = source.apply_edits(skip_links(markdown.remove_image_marks(source), source.links))
    english_steps = (characters.expand_numerals, emoji.name_emoji) if names and "all" not in unread else ()
    for edits in (*_STEPS, *english_steps):
        source = source.apply_edits(skip_links(edits(source.text), source.links))
    plain, notices = source, []
    choices: list[FormChoice] = []
    if language is not None:
        unread_kinds = {kind for form in unread for kind in FORM_KINDS[form]}
        if "all" in unread:
            unread_kinds = {rule.kind for rule in language.rules} - _NUMBERS
        scan = Verbalizer(language, unread_kinds, tag).scan(source)
        choices = [
            FormChoice(source.span(choice.start, choice.chosen.end), choice) for choice in scan.choices
        ]
        source = source.apply_edits(scan.edits)
        replacements = dict.fromkeys(f"{written} as {words}" for written, words in scan.changed)
        if replacements:
            sentence = f"Read with other letters: {listed(replacements, ', ')}"
            notices.append(Notice(sentence, dict.fromkeys(written for written, _ in scan.changed)))
    divisions = list(skip_links(characters.divide_long_words(source.text), source.links))
    if divisions:
        words = dict.fromkeys(source.text[edit.start : edit.end] for edit in divisions)
        notices.append(Notice(f"Divided, because it is too long for a word: {listed(words)}", words))
    return NormalizedText(source.apply_edits(divisions), plain, tuple(notices), tuple(choices))
