"""The language that the text of each voice is read in."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.bundle.voices import LANGUAGES, Voices, describe
from kokoro_tvm.runtime.notices import warn

__all__ = ["VOICES_REMEMBERED", "languages_of"]

VOICES_REMEMBERED = 32
"""Voices of which a request remembers language and table; each mix is one."""


def languages_of(voices: Voices, voice: str, language: str | None) -> Callable[[str | None], str]:
    """The letter of the language of each voice, of `voice` itself for None; `language` where it is given.

    A SpeechWarning says once where a voice leaves it open. Raises InputError for an unknown one of either.
    """
    if language is not None and language not in LANGUAGES:
        letters = ", ".join(f"{letter} ({name})" for letter, name in LANGUAGES.items())
        raise InputError(f"There is no language {language!r:.40}. Choose one of {letters}.")

    @lru_cache(VOICES_REMEMBERED)
    def language_of(other: str | None) -> str:
        names = voices.split(voice if other is None else other)
        return language or _language(names, voice if other is None else other)

    language_of(None)
    return language_of


def _language(names: tuple[str, ...], voice: str) -> str:
    infos = [describe(name) for name in names]
    code = infos[0].code
    if code not in LANGUAGES:
        warn(f"The name of the voice {infos[0].name} names no language; American English is used.")
        return "a"
    if any(info.code != code for info in infos):
        warn(f"The voices of the mix '{voice}' speak different languages; {LANGUAGES[code]} is used.")
    return code
