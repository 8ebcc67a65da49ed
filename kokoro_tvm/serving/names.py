"""Voices and languages of a bundle by the names that clients have for them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kokoro_tvm.common.words import truncate
from kokoro_tvm.runtime.bundle.languages import KOKORO, SpokenLanguage
from kokoro_tvm.runtime.bundle.voices import Voices, describe
from kokoro_tvm.serving.errors import ApiError

__all__ = ["letter_of", "listed", "named", "tag_of", "with_own_names"]

# Where Kokoro has a voice of the same name it is that one; the others were chosen by gender and liveliness.
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
    """A voice or a mix in which OpenAI's names are replaced by those of a bundle, unless it has them; the
    bundle's default for None."""
    if voice is None:
        return voices.default
    if voice in voices.names:
        return voice
    parts = re.split(r"([-+,(]\s*)", voice)
    return "".join(part if part in voices.names else _OPENAI.get(part.strip(), part) for part in parts)


def listed(voices: Voices, languages: Mapping[str, SpokenLanguage] = KOKORO) -> list[dict[str, str]]:
    """The voices as clients list them; languages: the bundle's."""
    infos = (describe(name, languages) for name in voices.names)
    return [
        {"id": info.name, "name": info.name, "language": info.language, "gender": info.gender}
        for info in infos
    ]


def letter_of(wanted: str, languages: Mapping[str, SpokenLanguage], path: str) -> str:
    """The letter of the language that a client means by its letter or its tag, in any case of letters.

    languages: the bundle's. Raises ApiError, whose field is `path`, for one that it does not speak.
    """
    names = {code: (code, *_tags(code, language)) for code, language in languages.items()}
    for code, known in names.items():
        if wanted.lower() in {name.lower() for name in known}:
            return code
    all_names = ", ".join(name for known in names.values() for name in known)
    message = f"There is no language {truncate(repr(wanted))} in this bundle. Choose one of {all_names}."
    raise ApiError(400, message, path, "invalid_value")


def named(languages: Mapping[str, SpokenLanguage]) -> dict[str, dict[str, str]]:
    """Name and tag of each language, by its letter, as clients list them."""
    return {
        code: {"name": language.name, "tag": (*_tags(code, language), code)[0]}
        for code, language in languages.items()
    }


def tag_of(voice: str, languages: Mapping[str, SpokenLanguage]) -> str:
    """The tag of the language that a voice speaks: the bundle's first where its name says none."""
    code = describe(voice, languages).code
    code = code if code in languages else next(iter(languages))
    return (*_tags(code, languages[code]), code)[0]


def _tags(code: str, language: SpokenLanguage) -> tuple[str, ...]:
    """Names of a language in the web; espeak-ng's, which are tags too, for one of a model's own."""
    if language == KOKORO.get(code):
        return _TAGS[code]
    return () if language.espeak is None else (language.espeak,)
