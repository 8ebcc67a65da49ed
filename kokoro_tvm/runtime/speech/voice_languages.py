"""The language that the text of each voice is read in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.bundle.languages import SpokenLanguage
from kokoro_tvm.runtime.bundle.voices import Voices, describe
from kokoro_tvm.runtime.notices import warn

__all__ = ["VOICES_REMEMBERED", "languages_of"]

VOICES_REMEMBERED = 32
"""Voices of which a request remembers language and table; each mix is one."""


def languages_of(
    voices: Voices, voice: str, language: str | None, known: Mapping[str, SpokenLanguage]
) -> Callable[[str | None], str]:
    """The letter of the language of each voice, of `voice` itself for None; `language` where it is given.
    known: the bundle's languages, the first of which a voice speaks whose name says none.

    A SpeechWarning says once where a voice leaves it open. Raises InputError for an unknown one of either.
    """
    if language is not None and language not in known:
        letters = ", ".join(f"{letter} ({each.name})" for letter, each in known.items())
        raise InputError(f"There is no language {language!r:.40}. Choose one of {letters}.")

    @lru_cache(VOICES_REMEMBERED)
    def language_of(other: str | None) -> str:
        names = voices.split(voice if other is None else other)
        return language or _language(names, voice if other is None else other, known)

    language_of(None)
    return language_of


def _language(names: tuple[str, ...], voice: str, known: Mapping[str, SpokenLanguage]) -> str:
    infos = [describe(name, known) for name in names]
    code = infos[0].code
    if code not in known:
        code, first = next(iter(known.items()))
        warn(f"The name of the voice {infos[0].name} names no language; {first.name} is used.")
        return code
    if any(info.code != code for info in infos):
        warn(f"The voices of the mix '{voice}' speak different languages; {known[code].name} is used.")
    return code
