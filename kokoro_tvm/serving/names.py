"""Names of voices and languages: those of clients and those of a bundle."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kokoro_tvm.common.words import truncate
from kokoro_tvm.runtime.bundle.languages import KOKORO, SpokenLanguage
from kokoro_tvm.runtime.bundle.voices import Voices, describe
from kokoro_tvm.serving.errors import ApiError

__all__ = ["describe_languages", "letter_of", "list_voices", "tag_of", "with_own_names"]

# A voice of Kokoro of the same name, if there is one; the others are chosen by gender and liveliness.
_OPENAI = {
    "alloy": "af_alloy",
    "ash": "am_adam",
    "ballad": "bm_george",
    "cedar": "am_fenrir",
    "coral": "af_bella",
    "echo": "am_echo",
    "fable": "bm_fable",
    "marin": "af_heart",
    "nova": "af_nova",
    "onyx": "am_onyx",
    "sage": "af_sarah",
    "shimmer": "af_sky",
    "verse": "am_michael",
}

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


def with_own_names(voice: str | None, voices: Voices) -> str:
    """Replace OpenAI's names in a voice or a mix by those of a bundle, unless it has them.

    Args:
        voice: The voice or mix; None for the bundle's default.
        voices: Of the bundle.
    """
    if voice is None:
        return voices.default
    if voice in voices.names:
        return voice
    parts = re.split(r"([-+,(]\s*)", voice)
    return "".join(part if part in voices.names else _OPENAI.get(part.strip(), part) for part in parts)


def list_voices(voices: Voices, languages: Mapping[str, SpokenLanguage] = KOKORO) -> list[dict[str, str]]:
    """Return the voices of a bundle with `languages`, as JSON objects."""
    infos = (describe(name, languages) for name in voices.names)
    return [
        {"id": info.name, "name": info.name, "language": info.language, "gender": info.gender}
        for info in infos
    ]


def letter_of(language: str, languages: Mapping[str, SpokenLanguage], field: str) -> str:
    """Return the letter of a language of a bundle, by its letter or its tag in any case.

    Raises:
        ApiError: The bundle does not speak it; `field` is the request's field.
    """
    names = {code: (code, *_list_tags(code, entry)) for code, entry in languages.items()}
    for code, aliases in names.items():
        if language.lower() in {alias.lower() for alias in aliases}:
            return code
    choices = ", ".join(alias for aliases in names.values() for alias in aliases)
    message = f"There is no language {truncate(repr(language))} in this bundle. Choose one of {choices}."
    raise ApiError(400, message, field, "invalid_value")


def describe_languages(languages: Mapping[str, SpokenLanguage]) -> dict[str, dict[str, str]]:
    """Return name and tag of each language by its letter."""
    return {
        code: {"name": language.name, "tag": (*_list_tags(code, language), code)[0]}
        for code, language in languages.items()
    }


def tag_of(voice: str, languages: Mapping[str, SpokenLanguage]) -> str:
    """Return the tag of a voice's language; that of the bundle's first if the voice's name has none."""
    code = describe(voice, languages).code
    code = code if code in languages else next(iter(languages))
    return (*_list_tags(code, languages[code]), code)[0]


def _list_tags(code: str, language: SpokenLanguage) -> tuple[str, ...]:
    """Return the tags of a language."""
    # espeak-ng's names of languages, for those that are not Kokoro's, are tags too.
    if language == KOKORO.get(code):
        return _TAGS[code]
    return () if language.espeak is None else (language.espeak,)
