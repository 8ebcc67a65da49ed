"""Self-description of a Wyoming server: a program for each bundle, with its voices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kokoro_tvm import __version__
from kokoro_tvm.runtime.bundle.languages import KOKORO, SpokenLanguage
from kokoro_tvm.runtime.bundle.voices import describe
from kokoro_tvm.runtime.speech.synthesizer import Synthesizer
from kokoro_tvm.serving.names import tag_of

_MODEL = {"name": "hexgrad", "url": "https://huggingface.co/hexgrad/Kokoro-82M"}


def describe_programs(synthesizers: Mapping[str, Synthesizer]) -> dict[str, Any]:
    """Return the data of the event `info`."""
    return {"tts": [_describe_program(name, tts) for name, tts in synthesizers.items()]}


def find_voice(
    language: str, voices: Sequence[str], languages: Mapping[str, SpokenLanguage] = KOKORO
) -> str | None:
    """Return the first voice of a language such as "en-GB", "en_US" or "en"; None if there is none."""
    parts = language.replace("_", "-").lower().split("-")
    for length in (2, 1):
        prefix = "-".join(parts[:length])
        for name in voices:
            tag = tag_of(name, languages).lower()
            if prefix in (tag, tag.partition("-")[0]):
                return name
    return None


def _describe_program(name: str, synthesizer: Synthesizer) -> dict[str, Any]:
    languages = synthesizer.bundle.languages
    return {
        "name": name,
        "description": "Kokoro-82M, compiled by kokoro-tvm",
        "attribution": _MODEL,
        "installed": True,
        "version": __version__,
        "voices": [_describe_voice(voice, languages) for voice in synthesizer.voices.names],
        "supports_synthesize_streaming": True,
    }


def _describe_voice(name: str, languages: Mapping[str, SpokenLanguage]) -> dict[str, Any]:
    about = describe(name, languages)
    return {
        "name": name,
        "description": f"{name} ({about.language}, {about.gender})",
        "attribution": _MODEL,
        "installed": True,
        "version": "1.0",
        "languages": [tag_of(name, languages)],
    }
