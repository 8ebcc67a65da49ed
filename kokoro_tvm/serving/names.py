"""Names of voices and languages: those of clients and those of a bundle."""

from __future__ import annotations

from collections.abc import Mapping

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.bundle.languages import KOKORO, SpokenLanguage, find_language, tags_of
from kokoro_tvm.runtime.bundle.voices import Voices, describe
from kokoro_tvm.serving.errors import ApiError


def list_voices(voices: Voices, languages: Mapping[str, SpokenLanguage] = KOKORO) -> list[dict[str, str]]:
    """Return the voices of a bundle with `languages`, as JSON objects."""
    infos = (describe(name, languages) for name in voices.names)
    return [
        {"id": info.name, "name": info.name, "language": info.language, "gender": info.gender}
        for info in infos
    ]


def letter_of(language: str, languages: Mapping[str, SpokenLanguage]) -> str:
    """Return the letter of a language of a bundle, by its letter or its tag in any case.

    Raises:
        ApiError: The bundle does not speak it; the error names the field `language`.
    """
    try:
        return find_language(language, languages)
    except InputError as error:
        raise ApiError(400, str(error), "language", "invalid_value") from error


def describe_languages(languages: Mapping[str, SpokenLanguage]) -> dict[str, dict[str, str]]:
    """Return name and tag of each language by its letter."""
    return {
        code: {"name": language.name, "tag": (*tags_of(code, language), code)[0]}
        for code, language in languages.items()
    }


def tag_of(voice: str, languages: Mapping[str, SpokenLanguage]) -> str:
    """Return the tag of a voice's language; that of the bundle's first if the voice's name has none."""
    code = describe(voice, languages).code
    code = code if code in languages else next(iter(languages))
    return (*tags_of(code, languages[code]), code)[0]
