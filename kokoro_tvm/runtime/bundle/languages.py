"""Languages that a model speaks, by the letter that names of voices begin with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["KOKORO", "SpokenLanguage", "name_of"]


@dataclass(frozen=True)
class SpokenLanguage:
    """name: for people; espeak: espeak-ng's name of it, by which its texts become phonemes; None: they are
    read as kokoro-tvm reads the language of the letter."""

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
"""Those of Kokoro-82M, and of every bundle whose model's recipe names none."""


def name_of(code: str, languages: Mapping[str, SpokenLanguage]) -> str:
    """Return the name of the language of a letter: Kokoro-82M's, else the bundle's."""
    language = KOKORO.get(code) or languages.get(code)
    return "This language" if language is None else language.name
