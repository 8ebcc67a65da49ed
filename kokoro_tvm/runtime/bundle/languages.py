"""Languages of a model, by the first letter of the names of their voices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import truncate


@dataclass(frozen=True)
class SpokenLanguage:
    """A language of a bundle.

    Attributes:
        name: for people.
        espeak: the voice of espeak-ng that turns its texts into phonemes; None: kokoro-tvm's front end does.
    """

    name: str
    espeak: str | None = None


KOKORO: Mapping[str, SpokenLanguage] = {
    "a": SpokenLanguage("American English"),
    "b": SpokenLanguage("British English"),
    "e": SpokenLanguage("Spanish"),
    "f": SpokenLanguage("French"),
    "h": SpokenLanguage("Hindi"),
    "i": SpokenLanguage("Italian"),
    "j": SpokenLanguage("Japanese"),
    "p": SpokenLanguage("Brazilian Portuguese"),
    "z": SpokenLanguage("Mandarin Chinese"),
}
"""Languages of Kokoro-82M, and of bundles whose model's recipe names none."""


_TAGS = {
    "a": ("en-US", "en"),
    "b": ("en-GB",),
    "e": ("es",),
    "f": ("fr", "fr-FR"),
    "h": ("hi",),
    "i": ("it",),
    "j": ("ja",),
    "p": ("pt-BR", "pt"),
    "z": ("zh", "zh-CN", "cmn"),
}  # of Kokoro's own languages, BCP 47's first


def tags_of(code: str, language: SpokenLanguage) -> tuple[str, ...]:
    """Return the tags of a language, the usual one first; none if neither Kokoro nor espeak-ng has it."""
    if language == KOKORO.get(code):
        return _TAGS[code]
    return () if language.espeak is None else (language.espeak,)


def find_language(language: str, languages: Mapping[str, SpokenLanguage]) -> str:
    """Return the letter of a language of a bundle, by its letter or its tag in any case.

    Raises:
        InputError: The bundle does not speak it.
    """
    names = {code: (code, *tags_of(code, entry)) for code, entry in languages.items()}
    for code, aliases in names.items():
        if language.lower() in {alias.lower() for alias in aliases}:
            return code
    choices = ", ".join(f"{code} ({entry.name})" for code, entry in languages.items())
    raise InputError(f"There is no language {truncate(repr(language))}. Choose one of {choices}.")


def name_of(code: str, languages: Mapping[str, SpokenLanguage]) -> str:
    """Return the name of the language of a letter: Kokoro-82M's, else the bundle's."""
    language = KOKORO.get(code) or languages.get(code)
    return "This language" if language is None else language.name
