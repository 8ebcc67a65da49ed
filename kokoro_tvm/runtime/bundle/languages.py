"""Languages of a model, by the first letter of the names of their voices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["KOKORO", "SpokenLanguage", "name_of"]


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


def name_of(code: str, languages: Mapping[str, SpokenLanguage]) -> str:
    """Return the name of the language of a letter: Kokoro-82M's, else the bundle's."""
    language = KOKORO.get(code) or languages.get(code)
    return "This language" if language is None else language.name
